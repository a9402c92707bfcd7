import DocStore
import NIOConcurrencyHelpers
import QueryEngine
import SyncProtocol

/// What has happened to a session and was not yet told to it; filled from any thread, emptied by the pump.
final class SessionInbox: Sendable {
  /// All that came since the pump looked last.
  struct Input: Sendable {
    var commits: [Commit] = []
    var applied: [AppliedBatch] = []
    var subscriptions: [SubscriptionQuery]?
    var policyChanged = false
    var writable = false
    var chunks: [[UInt8]] = []
    var linkEnd: LinkError?
    var closing = false
  }

  private struct State {
    var input = Input()
    var chunkBytes = 0
    var discards = false
    var receiverEnded = false
    var senderEnded = false
  }

  /// Signalled with each input.
  let arrival = Latch()
  /// Signalled whenever the receiver may have room again.
  let room = Latch()
  private let state = NIOLockedValueBox(State())

  /// Puts something in and wakes the pump.
  func post(_ change: (inout Input) -> Void) {
    state.withLockedValue { change(&$0.input) }
    arrival.signal()
  }

  /// Puts in what the link received.
  func post(chunk: [UInt8]) {
    let kept = state.withLockedValue { state in
      guard !state.discards else { return false }
      state.input.chunks.append(chunk)
      state.chunkBytes += chunk.count
      return true
    }
    if kept { arrival.signal() }
  }

  /// Takes everything out.
  func take() -> Input {
    let input = state.withLockedValue { state in
      let input = state.input
      state.input = Input()
      state.chunkBytes = 0
      return input
    }
    if !input.chunks.isEmpty { room.signal() }
    return input
  }

  /// Bytes received that the session has not seen.
  var chunkBytes: Int { state.withLockedValue { $0.chunkBytes } }

  /// Drops what is received from now on: the session is over.
  func discard() {
    state.withLockedValue { state in
      state.discards = true
      state.input.chunks = []
      state.chunkBytes = 0
    }
    room.signal()
  }

  /// Notes the end of one of the two tasks that use the link.
  func end(_ side: LinkSide, _ error: LinkError?) {
    state.withLockedValue { state in
      switch side {
      case .receiver: state.receiverEnded = true
      case .sender: state.senderEnded = true
      }
      if let error, state.input.linkEnd == nil { state.input.linkEnd = error }
    }
    arrival.signal()
  }

  /// Whether what is received is dropped.
  var discards: Bool { state.withLockedValue { $0.discards } }

  /// Whether neither task uses the link any more.
  var isQuiet: Bool { state.withLockedValue { $0.receiverEnded && $0.senderEnded } }
}

/// The task of a driver that receives, or the one that sends.
enum LinkSide {
  case receiver
  case sender
}

/// What became of one batch.
struct AppliedBatch: Sendable {
  let ticket: UInt64
  let result: Result<ApplyOutcome, any Error>
}
