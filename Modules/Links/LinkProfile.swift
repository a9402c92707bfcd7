/// The properties of an emulated link, for tests and measurements.
///
/// The link stays ordered and reliable, like a radio's own link layer: a lost frame costs time, never data.
public struct LinkProfile: Hashable, Sendable {
  /// Bytes per second that the line carries each way; 0 means no limit.
  public var bytesPerSecond = 0
  /// Bytes of one frame of the line, at least 1.
  ///
  /// A frame is lost or delivered as a whole.
  public var frameBytes = 1_400
  /// The time from a frame's last bit at the sender to its arrival.
  public var latency: Duration = .zero
  /// The share of frames that are lost and sent again, from 0 to below 1.
  public var loss = 0.0
  /// How long the sender waits before it sends a lost frame again.
  public var resendDelay: Duration = .milliseconds(60)
  /// The number of bytes in one direction after which the link breaks; `nil` for never.
  public var disconnectAfterBytes: Int?
  /// Bytes that a direction holds, on the line or queued for it, before a sender waits.
  public var queueBytes = 64 << 10
  /// The seed of the losses: equal seeds lose the same frames.
  public var seed: UInt64 = 0

  /// A link without limits.
  public init() {}

  /// A link like Bluetooth LE between two phones: 20 KB/s in frames of 185 bytes, 30 ms away.
  public static let constrained: LinkProfile = {
    var profile = LinkProfile()
    profile.bytesPerSecond = 20_000
    profile.frameBytes = 185
    profile.latency = .milliseconds(30)
    profile.queueBytes = 4 << 10
    return profile
  }()
}
