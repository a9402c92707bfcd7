#if TLS
  import NIOConcurrencyHelpers
  import NIOCore
  import NIOSSL

  /// What TLS needs at one end of the handshakes of a peer: TLS 1.3 and nothing else, both ends with certificates.
  ///
  /// All links of a peer share it, as it takes some memory and time to make. It resumes nothing: the library gives out tickets,
  /// but whoever comes with one shows no certificate, and so is not let in.
  final class HandshakeContext: Sendable {
    /// What the handshake negotiates as protocol.
    static let protocolName = "dunlin/1"

    private struct State {
      /// `nil` before the first use.
      var context: NIOSSLContext?
      /// The handshakes under way, each with its secret once TLS has told it.
      var secrets: [ClientRandom: HandshakeSecret?] = [:]
    }

    private let presented: [[UInt8]]
    private let privateKey: [UInt8]
    private let end: HandshakeEnd
    private let state = NIOLockedValueBox(State())

    /// Takes what the peer shows, its own certificate first, and the private key of that.
    init(presented: [[UInt8]], privateKey: [UInt8], at end: HandshakeEnd) {
      self.presented = presented
      self.privateKey = privateKey
      self.end = end
    }

    /// The library's form of it, made at the first use.
    ///
    /// - Throws: What the library does where it cannot use key or certificates.
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
      // Both ends must present certificates, which the one check judges; there is no host whose name could be verified.
      configuration.certificateVerification = .noHostnameVerification
      configuration.trustRoots = .certificates([])
      configuration.curves = [.x25519]
      configuration.applicationProtocols = [Self.protocolName]
      configuration.keyLogCallback = { [weak self] line in self?.heard(String(buffer: line)) }
      return try NIOSSLContext(configuration: configuration)
    }

    // MARK: - The secrets of handshakes

    /// Keeps the secret of a handshake from now on, until it is forgotten.
    ///
    /// - Returns: Whether no other handshake under way has this number, as only somebody's who copies it would.
    func expectSecret(of random: ClientRandom) -> Bool {
      state.withLockedValue { state in
        guard state.secrets[random] == nil else { return false }
        state.secrets.updateValue(nil, forKey: random)
        return true
      }
    }

    /// The secret of a handshake, as far as TLS has told it.
    func secret(of random: ClientRandom) -> HandshakeSecret? {
      state.withLockedValue { $0.secrets[random] ?? nil }
    }

    /// Keeps the secret of a handshake no longer.
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

  /// The random number by which a key log tells handshakes apart: the client's, at the beginning of its first message.
  struct ClientRandom: Hashable, Sendable {
    private static let place = 11..<43
    private let bytes: [UInt8]

    /// Bytes of a handshake's beginning that have the number.
    static let openingBytes = place.upperBound

    /// Takes it from the first bytes that a client sends (RFC 8446, 4.1.2 and 5.1); `nil` where those begin no handshake.
    init?(opening: some Collection<UInt8>) {
      let bytes = Array(opening.prefix(Self.openingBytes))
      // A record of the handshake, and in it a client's hello.
      guard bytes.count == Self.openingBytes, bytes[0] == 22, bytes[5] == 1 else { return nil }
      self.bytes = Array(bytes[Self.place])
    }

    /// Takes it from a key log.
    init?(digits: Substring) {
      guard let bytes = [UInt8](hexDigits: digits), bytes.count == Self.place.count else { return nil }
      self.bytes = bytes
    }
  }
#endif
