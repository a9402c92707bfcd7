import NIOConcurrencyHelpers
import NIOPosix

/// Drives a link that knows how to wait only, with a task for each direction.
final class LinkPump: DrivenLink {
  let executor: any SessionExecutor = LoopExecutor(loop: TCP.group.next())
  /// A link that knows how to wait only may be an emulated one.
  let isLocal = false
  private let link: any Link
  private let outbox = LinkOutbox()
  private let room = Latch()
  private let tasks = NIOLockedValueBox<[Task<Void, Never>]>([])

  init(_ link: any Link) { self.link = link }

  func attach(_ user: any LinkUser) {
    let pumps = [
      Task { [link, room, outbox] in await Self.receive(from: link, for: user, room, outbox) },
      Task { [link, room, outbox] in await Self.send(to: link, for: user, room, outbox) },
    ]
    tasks.withLockedValue { $0 = pumps }
  }

  func write(_ pieces: [[UInt8]]) { outbox.append(pieces) }

  func resumeReading() { room.signal() }

  func finishWriting() { outbox.finish() }

  func close(_ reason: LinkError) {
    link.close(reason)
    for task in tasks.withLockedValue({ $0 }) { task.cancel() }
  }

  private static func receive(
    from link: any Link, for user: any LinkUser, _ room: Latch, _ outbox: LinkOutbox
  ) async {
    do {
      while let chunk = try await link.receive() {
        user.received(chunk, here: false)
        while !user.hasRoom || outbox.isFull, !Task.isCancelled { await room.wait() }
      }
      user.ended(.inbound, nil)
    } catch {
      user.ended(.inbound, error)
    }
  }

  private static func send(
    to link: any Link, for user: any LinkUser, _ room: Latch, _ outbox: LinkOutbox
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
