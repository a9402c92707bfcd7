import CRDTCore

/// When each frame of one direction of an emulated link arrives: a pure function of what was sent when.
///
/// Frames occupy the line one after another. A lost frame occupies it once more and arrives the resend delay
/// later. The frames behind it are sent meanwhile and wait for it at the other end, because the link is
/// ordered.
struct LinkSchedule: Sendable {
  /// A frame and its arrival.
  struct Delivery: Equatable, Sendable {
    let bytes: [UInt8]
    let arrival: Duration
  }

  private let profile: LinkProfile
  private var random: SplitMix64
  private var lineFree: Duration = .zero
  private var lastArrival: Duration = .zero
  private var sentBytes = 0
  /// The moment at which the link breaks, once the frame that reaches the limit is known.
  private(set) var breaks: Duration?

  /// Starts an idle line; `direction` makes the two directions of a link lose different frames.
  init(_ profile: LinkProfile, direction: UInt64 = 0) {
    self.profile = profile
    random = SplitMix64(seed: profile.seed &* 2 &+ direction)
  }

  /// Puts `bytes` on the line at `now` and says when its frames arrive.
  ///
  /// - Returns: The frames, cut at the profile's disconnection; `breaks` is set when they reach it.
  /// - Complexity: O(*n*) in the bytes.
  mutating func submit(_ bytes: [UInt8], at now: Duration) -> [Delivery] {
    var deliveries: [Delivery] = []
    var offset = 0
    while offset < bytes.count, breaks == nil {
      var count = min(max(1, profile.frameBytes), bytes.count - offset)
      if let limit = profile.disconnectAfterBytes { count = min(count, limit - sentBytes) }
      if count > 0 {
        deliveries.append(
          Delivery(bytes: Array(bytes[offset..<offset + count]), arrival: arrival(of: count, at: now)))
      }
      offset += count
      sentBytes += count
      if let limit = profile.disconnectAfterBytes, sentBytes >= limit {
        breaks = max(max(now, lineFree) + profile.latency, lastArrival)
      }
    }
    return deliveries
  }

  private mutating func arrival(of count: Int, at now: Duration) -> Duration {
    let onLine = time(of: count)
    lineFree = max(lineFree, now) + onLine
    var heard = lineFree
    // A line that loses everything would never deliver, so at most 64 losses occur in a row.
    var losses = 0
    while profile.loss > 0, losses < 64, Double.random(in: 0..<1, using: &random) < profile.loss {
      // The frames behind it use the line meanwhile; they wait at the other end.
      lineFree += onLine
      heard = max(heard + profile.resendDelay + onLine, lineFree)
      losses += 1
    }
    lastArrival = max(lastArrival, heard + profile.latency)
    return lastArrival
  }

  private func time(of count: Int) -> Duration {
    guard profile.bytesPerSecond > 0 else { return .zero }
    return .nanoseconds(Int64(count) * 1_000_000_000 / Int64(profile.bytesPerSecond))
  }
}
