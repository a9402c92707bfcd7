#if TLS
  public import CRDTCore
  import Crypto

  /// The private key of one device.
  ///
  /// Devices do not share keys.
  public struct DeviceKey: Sendable {
    let key: P256.Signing.PrivateKey

    /// Makes a new key.
    public init() { key = P256.Signing.PrivateKey(compactRepresentable: false) }

    init(_ key: P256.Signing.PrivateKey) { self.key = key }

    /// Reads a key from its 32 bytes.
    ///
    /// - Throws: `LinkError` with code `credentials` when the bytes are not a key.
    public init(bytes: [UInt8]) throws(LinkError) {
      do {
        key = try P256.Signing.PrivateKey(rawRepresentation: bytes)
      } catch {
        throw LinkError(
          .credentials, "The device key is damaged: it has \(bytes.count) bytes and is no P-256 key")
      }
    }

    /// Reads a key in DER form (PKCS #8 or SEC 1); `nil` for anything else.
    package init?(der: [UInt8]) {
      guard let key = try? P256.Signing.PrivateKey(derRepresentation: der) else { return nil }
      self.key = key
    }

    /// The 32 bytes of the key, which are secret.
    public var bytes: [UInt8] { Array(key.rawRepresentation) }

    /// The public key, by which others know the device.
    public var peerKey: PeerKey { PeerKey(key.publicKey) }
  }

  extension PeerKey {
    init(_ key: P256.Signing.PublicKey) {
      // A compressed point always has the right number of bytes.
      self.init(bytesOf: key.compressedRepresentation)
    }

    private init(bytesOf point: some Sequence<UInt8>) {
      guard let key = PeerKey(point) else { preconditionFailure("A compressed point has 33 bytes") }
      self = key
    }

    /// Reads a key in hexadecimal, as tools print it.
    ///
    /// - Throws: `LinkError` with code `credentials` when the text is not a key.
    public init(hexadecimal text: String) throws(LinkError) {
      guard let bytes = [UInt8](hexDigits: text), let key = PeerKey(bytes),
        (try? P256.Signing.PublicKey(compressedRepresentation: bytes)) != nil
      else {
        throw LinkError(
          .credentials,
          "A peer key is \(2 * Self.byteCount) hexadecimal digits that stand for a point of P-256")
      }
      self = key
    }

    /// The site of a store with this key.
    ///
    /// Nobody without the key can claim it.
    public func site(salt: SiteSalt) -> SiteID {
      var hash = SHA256()
      hash.update(data: bytes)
      hash.update(data: salt.bytes)
      let digest = Array(hash.finalize())
      func word(at place: Int) -> UInt64 { digest[place..<place + 8].reduce(0) { $0 << 8 | UInt64($1) } }
      return SiteID(high: word(at: 0), low: word(at: 8))
    }
  }
#endif
