import NIOConcurrencyHelpers
import NIOCore

/// The channels of one attempt to connect, so that it can be cancelled.
///
/// A name may have several addresses.
final class ConnectionAttempt: Sendable {
  private struct State {
    var channels: [any Channel] = []
    var isCancelled = false
    var isExpired = false
  }

  private let state = NIOLockedValueBox(State())

  func begin(on channel: any Channel) throws(LinkError) {
    let isCancelled = state.withLockedValue { state in
      state.channels.append(channel)
      return state.isCancelled
    }
    if isCancelled { throw .cancelled }
  }

  /// Whether the time of the attempt has passed.
  var isExpired: Bool { state.withLockedValue { $0.isExpired } }

  /// Closes the channels because the other end has not answered in time.
  func expire() {
    state.withLockedValue { $0.isExpired = true }
    cancel()
  }

  /// Closes the channels that exist, and those that are added later.
  func cancel() {
    let channels = state.withLockedValue { state in
      state.isCancelled = true
      return state.channels
    }
    for channel in channels { channel.close(promise: nil) }
  }
}
