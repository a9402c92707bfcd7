/// The properties of an emulated link, for tests and measurements.
///
/// The link stays ordered and reliable, as a radio's own link layer makes it: a lost frame costs time, never data.
public struct LinkProfile: Hashable, Sendable {
  /// Bytes that the line carries in a second, each way; 0 stands for no limit.
  public var bytesPerSecond = 0
  /// Bytes of one frame of the line, at least 1: what is lost or delivered at once.
  public var frameBytes = 1_400
  /// The time from a frame's last bit at the sender to its arrival.
  public var latency: Duration = .zero
  /// The part of all frames that is lost and sent again, 0 up to but excluding 1.
  public var loss = 0.0
  /// How long the sender waits before it sends a lost frame again.
  public var resendDelay: Duration = .milliseconds(60)
  /// After how many bytes in one direction the link breaks; `nil`: never.
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
