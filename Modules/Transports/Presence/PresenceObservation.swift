import NIOConcurrencyHelpers

/// An observation of the neighbours' presence, from its creation to its end.
public final class PresenceObservation: Sendable {
  private let onEnd: NIOLockedValueBox<(@Sendable () -> Void)?>

  init(_ onEnd: @escaping @Sendable () -> Void) { self.onEnd = NIOLockedValueBox(onEnd) }

  deinit { cancel() }

  /// Ends the observation.
  ///
  /// Peers are no longer asked once nobody observes.
  public func cancel() {
    let onEnd = onEnd.withLockedValue { end in
      defer { end = nil }
      return end
    }
    onEnd?()
  }
}
