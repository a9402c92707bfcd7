import NIOCore

/// How many frames, and how many bytes, the other end of a WebSocket may send.
///
/// A frame costs work, even if it is empty. Until the peer is admitted it may send a fixed number of frames
/// and bytes, which is far more than the handshake and hello take. After that:
///
/// - Frames without content (pings, pongs, empty ones) have a rate; a peer that exceeds it breaks the rules.
/// - Frames with content have a rate, too. A peer that exceeds it is not read until it is within it again.
struct WebSocketAllowance {
  /// Frames until the peer is admitted, and their bytes on the wire.
  static let openingFrames = 128
  static let openingBytes = 128 << 10
  /// Frames without content at once, and then in each second.
  static let emptyFrames = 64
  static let emptyFramesPerSecond = 16
  /// Frames with content at once, and then in each second.
  static let contentFrames = 16_384
  static let contentFramesPerSecond = 16_384

  /// Until the peer is admitted: the frames and bytes that have arrived.
  private var opening: (frames: Int, bytes: Int)?
  private var empty = FramePace(atOnce: emptyFrames, perSecond: emptyFramesPerSecond)
  private var content = FramePace(atOnce: contentFrames, perSecond: contentFramesPerSecond)

  /// Makes the allowance of a new connection.
  ///
  /// - Parameter awaitsAdmission: Whether somebody calls `admit` when the peer has identified itself.
  init(awaitsAdmission: Bool) { opening = awaitsAdmission ? (0, 0) : nil }

  /// Ends the bounds of the opening: the peer has identified itself.
  mutating func admit() { opening = nil }

  /// Counts bytes that have arrived.
  mutating func charge(bytes: Int) throws(WebSocketViolation) {
    guard let before = opening else { return }
    opening?.bytes = before.bytes + bytes
    guard before.bytes + bytes <= Self.openingBytes else {
      throw WebSocketViolation(.policyViolation, "more than \(Self.openingBytes >> 10) KiB before its hello")
    }
  }

  /// Counts a frame whose head has arrived.
  mutating func charge(frameWith contentBytes: Int, at now: NIODeadline) throws(WebSocketViolation) {
    if let before = opening {
      opening?.frames = before.frames + 1
      guard before.frames < Self.openingFrames else {
        throw WebSocketViolation(.policyViolation, "more than \(Self.openingFrames) frames before its hello")
      }
    }
    guard contentBytes == 0 else { return content.charge(at: now) }
    empty.charge(at: now)
    guard empty.excess(at: now) <= .zero else {
      throw WebSocketViolation(
        .policyViolation, "more than \(Self.emptyFramesPerSecond) frames without content a second")
    }
  }

  /// Returns how long the connection must not be read; `nil` if it may be.
  func pause(at now: NIODeadline) -> TimeAmount? {
    let excess = content.excess(at: now)
    return excess > .zero ? excess : nil
  }
}

/// Bounds how often something happens: so many times at once, and then at a steady rate.
///
/// What exceeds it is counted, too, and delays what follows. For one source; `RateLimiter` is for many.
///
/// Source: ITU-T I.371, "Traffic control and congestion control in B-ISDN", generic cell rate algorithm.
private struct FramePace {
  private let interval: TimeAmount
  private let burst: TimeAmount
  private var end = NIODeadline.uptimeNanoseconds(0)

  init(atOnce count: Int, perSecond rate: Int) {
    interval = .nanoseconds(1_000_000_000 / Int64(rate))
    burst = interval * count
  }

  mutating func charge(at now: NIODeadline) { end = max(end, now) + interval }

  func excess(at now: NIODeadline) -> TimeAmount { end - now - burst }
}
