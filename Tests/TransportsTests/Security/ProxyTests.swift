#if TLS
  import CRDTCore
  import Crypto
  import Foundation
  import SwiftASN1
  import TestKit
  import Testing
  import X509

  @testable import Transports

  /// Peers through a web proxy that nobody here wrote.
  @Suite(.timeLimit(.minutes(15))) struct ProxyTests {
    private static let program = ["/usr/sbin/nginx", "/usr/local/bin/nginx", "/opt/homebrew/bin/nginx"]
      .first { FileManager.default.isExecutableFile(atPath: $0) }

    /// A proxy with the outer TLS, before a listener on a port.
    private final class Proxy {
      let port: Int
      /// Those who issued its certificate.
      let authority: String
      private let process = Process()
      private let directory: TemporaryDirectory

      init(before listener: Int) async throws {
        directory = try TemporaryDirectory()
        let trial = try await TCPListener.bind()
        await trial.close()
        port = trial.port
        authority = directory.file("authority.pem")
        try Self.makeCertificates(authority, directory.file("proxy.pem"))
        let text = """
          worker_processes 1;
          pid \(directory.file("pid"));
          error_log \(directory.file("errors"));
          events { worker_connections 64; }
          http {
            access_log off;
            client_body_temp_path \(directory.path); proxy_temp_path \(directory.path);
            fastcgi_temp_path \(directory.path); uwsgi_temp_path \(directory.path); scgi_temp_path \(directory.path);
            server {
              listen 127.0.0.1:\(port) ssl;
              ssl_certificate \(directory.file("proxy.pem"));
              ssl_certificate_key \(directory.file("proxy.pem"));
              location / {
                proxy_pass http://127.0.0.1:\(listener);
                proxy_http_version 1.1;
                proxy_set_header Upgrade $http_upgrade;
                proxy_set_header Connection "upgrade";
                proxy_read_timeout 2s;
              }
            }
          }
          """
        try Data(text.utf8).write(to: URL(filePath: directory.file("conf")))
        process.executableURL = URL(filePath: try #require(ProxyTests.program))
        process.arguments = ["-c", directory.file("conf"), "-g", "daemon off;"]
        process.standardError = FileHandle.nullDevice
        try process.run()
        // It listens a moment later.
        for _ in 0..<500 {
          if let link = try? await TCPConnector(host: "127.0.0.1", port: port).connect() {
            link.close(LinkError(.closed, "done"))
            return
          }
          try await Task.sleep(for: .milliseconds(10))
        }
        Issue.record(
          "The proxy does not listen: \((try? String(contentsOfFile: directory.file("errors"), encoding: .utf8)) ?? "")"
        )
      }

      func stop() {
        process.terminate()
        process.waitUntilExit()
      }

      private static func makeCertificates(_ authorityFile: String, _ file: String) throws {
        let (root, key) = (P256.Signing.PrivateKey(), P256.Signing.PrivateKey())
        let (start, end) = (Date(timeIntervalSinceNow: -60), Date(timeIntervalSinceNow: 3_600))
        let name = try DistinguishedName { CommonName("a web authority") }
        let authority = try Certificate(
          version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: .init(root.publicKey),
          notValidBefore: start,
          notValidAfter: end, issuer: name, subject: name, signatureAlgorithm: .ecdsaWithSHA256,
          extensions: Certificate.Extensions {
            Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
            Critical(KeyUsage(keyCertSign: true))
          }, issuerPrivateKey: .init(root))
        let leaf = try Certificate(
          version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: .init(key.publicKey),
          notValidBefore: start,
          notValidAfter: end, issuer: name, subject: try DistinguishedName { CommonName("localhost") },
          signatureAlgorithm: .ecdsaWithSHA256,
          extensions: Certificate.Extensions {
            Critical(BasicConstraints.notCertificateAuthority)
            SubjectAlternativeNames([.dnsName("localhost")])
          }, issuerPrivateKey: .init(root))
        try Data(try authority.serializeAsPEM().pemString.utf8).write(to: URL(filePath: authorityFile))
        let text = try leaf.serializeAsPEM().pemString + "\n" + key.pemRepresentation + "\n"
        try Data(text.utf8).write(to: URL(filePath: file))
      }
    }

    @Test(.enabled(if: program != nil, "skipped: there is no nginx"))
    func `peers sync through a proxy, inside its TLS, and after it has cut what was idle`() async throws {
      let hub = try TestPeer("hub")
      try await hub.fill("things", 0..<3_000)
      try hub.network.start()
      let port = try #require(try hub.network.listen(over: .webSocket))
      let proxy = try await Proxy(before: port)
      defer { proxy.stop() }
      let device = try TestPeer("device") { $0.tcp.webAuthority = proxy.authority }
      for peer in [hub, device] { peer.network.subscribe(to: try everything("things")) }
      let events = device.network.events()
      device.network.connect(to: try WebSocketAddress("wss://localhost:\(proxy.port)/sync"))
      try device.network.start()
      try await device.wait { try device.documents("things").count == 3_000 }
      // The proxy cuts a connection on which nothing comes for two seconds; it is made again, and goes on.
      for await event in events { if case .disconnected = event { break } }
      try await hub.set("things", 5, "name", .string("later"))
      try await device.wait(with: hub) { try device.documents("things") == hub.documents("things") }
      await device.end()
      await hub.end()
    }

    @Test(.enabled(if: program != nil, "skipped: there is no nginx"))
    func `a proxy's certificate is verified`() async throws {
      let listener = try await TCPListener.bind(over: .webSocket)
      let proxy = try await Proxy(before: listener.port)
      defer { proxy.stop() }
      var options = TCPOptions()
      // Not those that the system knows, and not for this name.
      for (host, authority) in [("localhost", nil), ("127.0.0.1", proxy.authority)] {
        options.webAuthority = authority
        let address = try WebSocketAddress("wss://\(host):\(proxy.port)/")
        let error = await linkError { _ = try await WebSocketConnector(address, options: options).connect() }
        expectEqual(error?.code, .untrusted, "\(String(describing: error))")
      }
      await listener.close()
    }
  }
#endif
