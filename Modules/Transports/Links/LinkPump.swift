import NIOConcurrencyHelpers

/// Calls the user of a link that itself knows how to wait only, with a task for each direction.
final class LinkPump: Sendable {
  let executor: any LinkExecutor = LoopExecutor.next()
  private let outbox = LinkOutbox()
  private let room = Latch()
  private let tasks = NIOLockedValueBox<[Task<Void, Never>]>([])

  /// Begins to carry bytes between `link` and `user`, and keeps both until they have ended.
  func attach(_ user: any LinkUser, to link: any AwaitedLink) {
    let pumps = [
      Task { [room, outbox] in await Self.receive(from: link, for: user, room, outbox) },
      Task { [room, outbox] in await Self.send(to: link, for: user, room, outbox) },
    ]
    tasks.withLockedValue { $0 = pumps }
  }

  func write(_ pieces: [[UInt8]]) { outbox.append(pieces) }

  func resumeReading() { room.signal() }

  func finishWriting() { outbox.finish() }

  /// Ends the waits, the link being closed.
  func cancel() { for task in tasks.withLockedValue({ $0 }) { task.cancel() } }

  private static func receive(
    from link: any AwaitedLink, for user: any LinkUser, _ room: Latch, _ outbox: LinkOutbox
  ) async {
    do {
      while let chunk = try await link.receive() {
        user.received(chunk)
        while !user.hasRoom || outbox.isFull, !Task.isCancelled { await room.wait() }
      }
      user.ended(.inbound, nil)
    } catch {
      user.ended(.inbound, error)
    }
  }

  private static func send(
    to link: any AwaitedLink, for user: any LinkUser, _ room: Latch, _ outbox: LinkOutbox
  ) async {
    do throws(LinkError) {
      while true {
        switch await outbox.next() {
        case .send(let pieces):
          try await link.send(pieces)
          room.signal()
        case .finish:
          try await link.finish()
          return user.ended(.outbound, nil)
        case .wait:
          throw .cancelled
        }
      }
    } catch {
      user.ended(.outbound, error)
    }
  }
}

/// What a session wants sent and was not yet handed to the link.
private final class LinkOutbox: Sendable {
  private struct State {
    var pieces: [[UInt8]] = []
    var byteCount = 0
    var finished = false
  }

  /// What the sender does next.
  enum Next {
    case send([[UInt8]])
    case finish
    case wait
  }

  private let arrival = Latch()
  private let state = NIOLockedValueBox(State())

  /// Whether so much waits that nothing more should be received, which could call for more.
  var isFull: Bool { state.withLockedValue { $0.byteCount >= DriverLimits.unsentBytes } }

  /// Puts pieces behind all earlier ones.
  func append(_ pieces: [[UInt8]]) {
    guard !pieces.isEmpty else { return }
    state.withLockedValue { state in
      state.pieces += pieces
      state.byteCount += pieces.reduce(0) { $0 + $1.count }
    }
    arrival.signal()
  }

  /// Nothing comes any more.
  func finish() {
    state.withLockedValue { $0.finished = true }
    arrival.signal()
  }

  /// Waits for something to do; `wait` only when the task is cancelled.
  func next() async -> Next {
    while true {
      let next = state.withLockedValue { state -> Next in
        guard state.pieces.isEmpty else {
          let pieces = state.pieces
          state.pieces = []
          state.byteCount = 0
          return .send(pieces)
        }
        return state.finished ? .finish : .wait
      }
      guard case .wait = next, !Task.isCancelled else { return next }
      await arrival.wait()
    }
  }
}
