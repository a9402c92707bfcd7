/// Limits on what one link holds.
enum LinkLimits {
  /// Bytes that wait to be sent.
  ///
  /// It is more than a session has in flight, so that two peers never wait for each other.
  static let unsentBytes = 32 << 20
}
