public import CRDTCore

/// A peer's public key: a point of the curve P-256, compressed.
public struct PeerKey: Hashable, Sendable, CustomStringConvertible {
  /// 33 bytes.
  public let bytes: [UInt8]

  static let byteCount = 33

  init?(_ bytes: some Sequence<UInt8>) {
    self.bytes = Array(bytes)
    guard self.bytes.count == Self.byteCount else { return nil }
  }

  /// The bytes in hexadecimal, as tools print them.
  public var description: String {
    bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  }
}

/// Who is at the other end of a link, as far as it has proved that.
public struct PeerIdentity: Hashable, Sendable {
  /// What a peer's certificate rests on.
  public enum Proof: UInt8, Hashable, Sendable {
    /// The peer knows the application's shared key.
    case sharedKey = 0
    /// The application's authority has issued it a certificate.
    case certificate = 1
    /// A login has given it a certificate.
    case online = 2
  }

  /// The peer's own key.
  public let key: PeerKey
  /// What its certificate rests on.
  public let proof: Proof
  /// The user that the application's authority has named; a shared key names none.
  public let user: String?
  /// When the certificate ends, or the first of those that it rests on, in milliseconds since 1970.
  public let validUntil: Int64
  /// What the login service has said of the peer to all others, inside the certificate.
  public var information: [TextKey: Value] = [:]
}
