import NIOConcurrencyHelpers

/// Calls the user of an awaited link, with one task for each direction.
final class LinkPump: Sendable {
  private struct State {
    var tasks: [Task<Void, Never>] = []
    var isCancelled = false
  }

  let executor: any LinkExecutor = LoopExecutor.next()
  private let outbox = LinkOutbox()
  private let room = Latch()
  private let state = NIOLockedValueBox(State())

  /// Starts to carry bytes between `link` and `user`, and retains both until they have ended.
  func attach(_ user: any LinkUser, to link: any AwaitedLink) {
    let caller = UserCaller(user: user, executor: executor)
    state.withLockedValue { state in
      state.tasks = [
        Task { [room, outbox] in await Self.receive(from: link, for: caller, room, outbox) },
        Task { [room, outbox] in await Self.send(to: link, for: caller, room, outbox) },
      ]
      if state.isCancelled { for task in state.tasks { task.cancel() } }
    }
  }

  func write(_ pieces: [[UInt8]]) { outbox.append(pieces) }

  func resumeReading() { room.signal() }

  func finishWriting() { outbox.finish() }

  /// Ends the waits after the link was closed.
  func cancel() {
    outbox.discard()
    let tasks = state.withLockedValue { state in
      state.isCancelled = true
      return state.tasks
    }
    for task in tasks { task.cancel() }
  }

  private static func receive(
    from link: any AwaitedLink, for user: UserCaller, _ room: Latch, _ outbox: LinkOutbox
  ) async {
    do {
      while let chunk = try await link.receive() {
        var hasRoom = await user.call {
          $0.received(chunk)
          return $0.hasRoom
        }
        while !hasRoom || outbox.isFull, !Task.isCancelled {
          await room.wait()
          hasRoom = await user.call { $0.hasRoom }
        }
      }
      await user.call { $0.ended(.inbound, nil) }
    } catch {
      let error = error
      await user.call { $0.ended(.inbound, error) }
    }
  }

  private static func send(
    to link: any AwaitedLink, for user: UserCaller, _ room: Latch, _ outbox: LinkOutbox
  ) async {
    do throws(LinkError) {
      while true {
        switch await outbox.next() {
        case .send(let pieces):
          try await link.send(pieces)
          outbox.sent(pieces)
          room.signal()
        case .finish:
          try await link.finish()
          return await user.call { $0.ended(.outbound, nil) }
        case .wait:
          throw .cancelled
        }
      }
    } catch {
      outbox.discard()
      await user.call { $0.ended(.outbound, error) }
    }
  }
}

/// Calls a user on its link's executor.
private struct UserCaller: Sendable {
  let user: any LinkUser
  let executor: any LinkExecutor

  func call<Result: Sendable>(_ body: @escaping @Sendable (any LinkUser) -> Result) async -> Result {
    await withCheckedContinuation { waiter in
      executor.execute { [user] in waiter.resume(returning: body(user)) }
    }
  }
}

/// Pieces that a session wants to send and that the link has not taken.
private final class LinkOutbox: Sendable {
  private struct State {
    var pieces: [[UInt8]] = []
    var byteCount = 0
    var finished = false
    /// Whether the link is over, and nothing more is sent.
    var isDiscarded = false
  }

  /// The sender's next action.
  enum Next {
    case send([[UInt8]])
    case finish
    case wait
  }

  private let arrival = Latch()
  private let state = NIOLockedValueBox(State())

  /// Whether so much waits that the link should stop receiving, since input may cause more output.
  var isFull: Bool { state.withLockedValue { $0.byteCount >= LinkLimits.unsentBytes } }

  /// Queues pieces after all earlier ones; drops them after the end.
  func append(_ pieces: [[UInt8]]) {
    guard !pieces.isEmpty else { return }
    state.withLockedValue { state in
      guard !state.finished, !state.isDiscarded else { return }
      state.pieces += pieces
      state.byteCount += pieces.reduce(0) { $0 + $1.count }
    }
    arrival.signal()
  }

  /// Says that no more pieces follow.
  func finish() {
    state.withLockedValue { $0.finished = true }
    arrival.signal()
  }

  /// Records that the link has taken pieces.
  func sent(_ pieces: [[UInt8]]) {
    let count = pieces.reduce(0) { $0 + $1.count }
    state.withLockedValue { $0.byteCount = max(0, $0.byteCount - count) }
  }

  /// Drops what waits, and everything queued later.
  func discard() {
    state.withLockedValue { state in
      (state.pieces, state.byteCount, state.isDiscarded) = ([], 0, true)
    }
  }

  /// Waits for something to do; returns `wait` only when the task is cancelled.
  func next() async -> Next {
    while true {
      let next = state.withLockedValue { state -> Next in
        guard state.pieces.isEmpty else {
          defer { state.pieces = [] }
          return .send(state.pieces)
        }
        return state.finished ? .finish : .wait
      }
      guard case .wait = next, !Task.isCancelled else { return next }
      await arrival.wait()
    }
  }
}
