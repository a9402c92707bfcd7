#if TLS
  import NIOConcurrencyHelpers
  import NIOCore
  import NIOSSL

  /// The TLS configuration of one end of a peer's handshakes: TLS 1.3 only, with certificates of both ends.
  ///
  /// All links of a peer share it, because it takes some memory and time to make. Sessions are not resumed.
  /// The library issues tickets, but a client that presents one shows no certificate, and so is refused.
  final class HandshakeContext: Sendable {
    /// The protocol name that the handshake negotiates (ALPN).
    static let protocolName = "dunlin/1"

    private struct State {
      /// `nil` before the first use.
      var context: NIOSSLContext?
      /// The handshakes in flight, each with its secret once TLS has reported it.
      var secrets: [ClientRandom: HandshakeSecret?] = [:]
    }

    private let presented: [[UInt8]]
    private let privateKey: [UInt8]
    private let end: HandshakeEnd
    private let state = NIOLockedValueBox(State())

    /// Takes the certificates that the peer presents, its own first, and the private key of the first.
    init(presented: [[UInt8]], privateKey: [UInt8], at end: HandshakeEnd) {
      self.presented = presented
      self.privateKey = privateKey
      self.end = end
    }

    /// The library's form of the configuration, made at the first use.
    ///
    /// - Throws: The library's error when it cannot use the key or the certificates.
    func context() throws -> NIOSSLContext {
      try state.withLockedValue { state in
        if let context = state.context { return context }
        let context = try make()
        state.context = context
        return context
      }
    }

    private func make() throws -> NIOSSLContext {
      let chain = try presented.map {
        NIOSSLCertificateSource.certificate(try NIOSSLCertificate(bytes: $0, format: .der))
      }
      let key = NIOSSLPrivateKeySource.privateKey(try NIOSSLPrivateKey(bytes: privateKey, format: .der))
      var configuration =
        switch end {
        case .dialing: TLSConfiguration.makeClientConfiguration()
        case .listening: TLSConfiguration.makeServerConfiguration(certificateChain: chain, privateKey: key)
        }
      configuration.certificateChain = chain
      configuration.privateKey = key
      configuration.minimumTLSVersion = .tlsv13
      configuration.maximumTLSVersion = .tlsv13
      // Both ends must present certificates, which `CertificateCheck` judges. There is no host name to
      // verify.
      configuration.certificateVerification = .noHostnameVerification
      configuration.trustRoots = .certificates([])
      configuration.curves = [.x25519]
      configuration.applicationProtocols = [Self.protocolName]
      configuration.keyLogCallback = { [weak self] line in self?.heard(String(buffer: line)) }
      return try NIOSSLContext(configuration: configuration)
    }

    // MARK: - The secrets of handshakes

    /// Stores the secret of a handshake when TLS reports it, until `forgetSecret` is called.
    ///
    /// - Returns: Whether no other handshake in flight has this number. Only a client that copies a number
    ///   repeats one.
    func expectSecret(of random: ClientRandom) -> Bool {
      state.withLockedValue { state in
        guard state.secrets[random] == nil else { return false }
        state.secrets.updateValue(nil, forKey: random)
        return true
      }
    }

    /// The secret of a handshake; `nil` before TLS has reported it.
    func secret(of random: ClientRandom) -> HandshakeSecret? {
      state.withLockedValue { $0.secrets[random] ?? nil }
    }

    /// Drops the secret of a handshake.
    func forgetSecret(of random: ClientRandom) {
      _ = state.withLockedValue { $0.secrets.removeValue(forKey: random) }
    }

    private func heard(_ line: String) {
      guard let (random, secret) = HandshakeSecret.read(keyLogLine: line) else { return }
      state.withLockedValue { state in
        if state.secrets[random] != nil { state.secrets[random] = .some(secret) }
      }
    }
  }

  /// The random number by which a key log distinguishes handshakes.
  ///
  /// It is the client's, at the beginning of the client's first message.
  struct ClientRandom: Hashable, Sendable {
    private static let place = 11..<43
    private let bytes: [UInt8]

    /// How many of a handshake's first bytes are needed to read the number.
    static let openingBytes = place.upperBound

    /// Reads the number from a client's first bytes; `nil` if they begin no handshake (RFC 8446, 4.1.2, 5.1).
    init?(opening: some Collection<UInt8>) {
      let bytes = Array(opening.prefix(Self.openingBytes))
      // A record of type handshake that contains a ClientHello.
      guard bytes.count == Self.openingBytes, bytes[0] == 22, bytes[5] == 1 else { return nil }
      self.bytes = Array(bytes[Self.place])
    }

    /// Reads the number from a key log.
    init?(digits: Substring) {
      guard let bytes = [UInt8](hexDigits: digits), bytes.count == Self.place.count else { return nil }
      self.bytes = bytes
    }
  }
#endif
