/// Limits the announcements in flight to what the receiver has processed.
///
/// The flow window does not count announcements.
struct AnnouncementPace {
  /// Bytes of announcements after which a ping is sent, and after which the next ones wait for its answer.
  static let stepBytes = 32 << 10
  private(set) var nonce: UInt64?
  private var byteCount = 0

  var isOpen: Bool { nonce == nil || byteCount < Self.stepBytes }

  /// Counts announcements.
  ///
  /// - Returns: The nonce of the ping that must follow them, if one must.
  mutating func sent(_ bytes: Int, nonce draw: () -> UInt64) -> UInt64? {
    byteCount += bytes
    guard nonce == nil, byteCount >= Self.stepBytes else { return nil }
    nonce = draw()
    byteCount = 0
    return nonce
  }

  mutating func answered(_ nonce: UInt64) {
    if self.nonce == nonce { self.nonce = nil }
  }
}

extension [AnnouncedDocument] {
  /// Approximate bytes on the wire.
  var byteCount: Int { reduce(2) { $0 + $1.byteCount } }
}
