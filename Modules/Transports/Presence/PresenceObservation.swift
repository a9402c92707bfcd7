import NIOConcurrencyHelpers

/// The wish to know what neighbours say of themselves, from its making to its end.
public final class PresenceObservation: Sendable {
  private let onEnd: NIOLockedValueBox<(@Sendable () -> Void)?>

  init(_ onEnd: @escaping @Sendable () -> Void) { self.onEnd = NIOLockedValueBox(onEnd) }

  deinit { cancel() }

  /// Ends it; peers are asked no more once nobody observes.
  public func cancel() {
    let onEnd = onEnd.withLockedValue { end in
      defer { end = nil }
      return end
    }
    onEnd?()
  }
}
