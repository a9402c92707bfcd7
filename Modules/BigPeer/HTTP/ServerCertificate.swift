#if Server
  import NIOCore
  import NIOSSL
  import Synchronization

  /// A certificate chain without its authority's certificate, and the private key that matches it.
  struct CertifiedKey: Sendable {
    let chain: [NIOSSLCertificate]
    let key: NIOSSLPrivateKey

    /// Reads the two files.
    ///
    /// - Throws: What is wrong, with the place of the setting.
    init(_ tls: BigPeerConfiguration.TLS, _ places: SettingPlaces) throws(ConfigurationError) {
      do {
        chain = try NIOSSLCertificate.fromPEMFile(tls.certificate)
      } catch {
        throw places.fault("http.tls.certificate", "the file \(tls.certificate) has no certificate (PEM)")
      }
      do {
        try KeyText.checkSecret(tls.key)
      } catch {
        throw places.fault("http.tls.key", "\(error)")
      }
      do {
        key = try NIOSSLPrivateKey(file: tls.key, format: .pem)
      } catch {
        throw places.fault("http.tls.key", "the file \(tls.key) has no private key (PEM)")
      }
      do {
        _ = try NIOSSLContext(configuration: configuration)
      } catch {
        throw places.fault(
          "http.tls.key",
          "the file \(tls.key) has another key than that of the certificate in \(tls.certificate)")
      }
    }

    fileprivate var configuration: TLSConfiguration {
      var configuration = TLSConfiguration.makeServerConfiguration(
        certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
      configuration.minimumTLSVersion = .tlsv12
      return configuration
    }
  }

  /// The certificate of a listener, which can be renewed while it listens: each handshake uses the newest.
  final class ServerCertificate: Sendable {
    private let newest: Mutex<CertifiedKey>

    init(_ first: CertifiedKey) { newest = Mutex(first) }

    /// Replaces the certificate, for connections from now on.
    func replace(by next: CertifiedKey) { newest.withLock { $0 = next } }

    /// The TLS configuration of the listener.
    var configuration: TLSConfiguration {
      var configuration = newest.withLock { $0 }.configuration
      configuration.sslContextCallback = { [self] _, promise in
        let newest = newest.withLock { $0 }
        var change = NIOSSLContextConfigurationOverride()
        change.certificateChain = newest.chain.map { .certificate($0) }
        change.privateKey = .privateKey(newest.key)
        promise.succeed(change)
      }
      return configuration
    }
  }
#endif
