/// The round-trip time, and how long to wait for an acknowledgement.
///
/// Source: Jacobson, "Congestion Avoidance and Control", SIGCOMM 1988; the constants are those of RFC 6298
/// but for the bounds, which suit one hop.
package struct RoundTripTime: Hashable, Sendable {
  private static let bounds: ClosedRange<Duration> = .milliseconds(200)...(.seconds(4))

  private var smoothed: Duration?
  private var variation: Duration = .zero
  /// The shortest round trip so far; `nil` before the first.
  package private(set) var shortest: Duration?

  /// Starts without measurements.
  package init() {}

  /// Records a measurement: from a packet that was sent once to its acknowledgement.
  package mutating func record(_ sample: Duration) {
    shortest = min(shortest ?? sample, sample)
    guard let smoothed else {
      self.smoothed = sample
      variation = sample / 2
      return
    }
    let error = smoothed > sample ? smoothed - sample : sample - smoothed
    variation = (variation * 3 + error) / 4
    self.smoothed = (smoothed * 7 + sample) / 8
  }

  /// A round trip that is a little longer than most; zero before the first.
  package var usual: Duration { (smoothed ?? .zero) * 5 / 4 }

  /// How long an acknowledgement may take before its packet counts as lost.
  package var patience: Duration {
    guard let smoothed else { return .seconds(1) }
    return min(max(smoothed + variation * 4, Self.bounds.lowerBound), Self.bounds.upperBound)
  }

  /// The patience after so many timeouts in a row.
  package func patience(afterExpiries count: Int) -> Duration {
    min(patience * (1 << min(count, 8)), Self.bounds.upperBound)
  }
}
