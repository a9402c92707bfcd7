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

/// The identity of the other end of a link, as far as that end has proved it.
public struct PeerIdentity: Hashable, Sendable {
  /// The kinds of proof that a peer's certificate is based on.
  public enum Proof: UInt8, Hashable, Sendable {
    /// The peer knows the application's shared key.
    case sharedKey = 0
    /// The application's authority has issued the peer a certificate.
    case certificate = 1
    /// The peer received its certificate by a login.
    case online = 2
  }

  /// The peer's own key.
  public let key: PeerKey
  /// The kind of proof that the peer's certificate is based on.
  public let proof: Proof
  /// The user that the application's authority has named; a shared key names none.
  public let user: String?
  /// When the first certificate of the chain expires, in milliseconds since 1970.
  public let validUntil: Int64
  /// The information about the peer that the login service gives to all others, inside the certificate.
  public var information: [TextKey: Value] = [:]
  /// The hash of the grant in the certificate; `nil` for a certificate that grants everything.
  package var grantHash: GrantHash?
  /// Whether the peer's certificate says that it is a big peer.
  ///
  /// It is `false` with a shared key, which proves no kind.
  public internal(set) var isBigPeer = false
}
