#if Server
  import Foundation
  import Links
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

    /// When all certificates of the chain are valid.
    private var validity: (start: Date, end: Date) {
      let start = chain.map(\.notValidBefore).max() ?? 0
      let end = chain.map(\.notValidAfter).min() ?? 0
      return (Date(timeIntervalSince1970: Double(start)), Date(timeIntervalSince1970: Double(end)))
    }

    /// When the first certificate of the chain ends.
    var end: Date { validity.end }

    /// Why clients refuse the certificate at a time, with the end of a sentence about the file.
    ///
    /// - Returns: `nil` while it is valid.
    func fault(at now: Date) -> String? {
      let (start, end) = validity
      if now < start { return "is not valid before \(start.timeText)" }
      return now < end ? nil : "has ended at \(end.timeText)"
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

    /// When the certificate in use ends.
    var end: Date { newest.withLock { $0 }.end }

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
