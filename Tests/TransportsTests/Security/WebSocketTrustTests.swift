#if TLS
  import Foundation
  import LoginKit
  import TestKit
  import Testing
  import Transports

  /// What is said of a web server with TLS that is not believed, in words and without the library's reports.
  @Suite(.timeLimit(.minutes(15))) struct WebSocketTrustTests {
    private func error(
      of server: HTTPSServer, host: String = "localhost", authority: String? = nil
    ) async throws -> LinkError? {
      var options = TCPOptions()
      options.webAuthority = authority ?? server.authorityFile
      let address = try WebSocketAddress("wss://\(host):\(server.port)/sync")
      let error = await linkError { _ = try await WebSocketConnector(address, options: options).connect() }
      expect(error?.message.contains("\(address)") == true, "\(String(describing: error))")
      expect(error?.message.contains("OPENSSL") == false, "\(String(describing: error))")
      expect(error?.message.contains(".cc") == false, "\(String(describing: error))")
      return error
    }

    @Test func `an unknown authority, another name and a lack of TLS are told as such`() async throws {
      let server = try await HTTPSServer { _ in .silence }
      let other = try await HTTPSServer { _ in .silence }
      let unknown = try await error(of: server, authority: other.authorityFile)
      #expect(unknown?.code == .untrusted)
      #expect(unknown?.message.contains("not issued by an authority that is trusted here") == true)
      let named = try await error(of: server, host: "127.0.0.1")
      #expect(named?.code == .untrusted)
      #expect(named?.message.contains("its certificate is not for the name 127.0.0.1") == true)
      let plain = try await TCPListener.bind()
      let serving = Task {
        for await link in plain.links {
          // What nobody has read would be lost with the answer.
          _ = try? await link.receive()
          try? await link.send([Array("HTTP/1.1 400 No\r\n\r\n".utf8)])
          while let bytes = try? await link.receive(), !bytes.isEmpty {}
        }
      }
      let address = try WebSocketAddress("wss://127.0.0.1:\(plain.port)/")
      let insecure = await linkError { _ = try await WebSocketConnector(address).connect() }
      #expect(insecure?.code == .untrusted)
      #expect(insecure?.message == "Cannot connect to \(address): it does not speak TLS")
      serving.cancel()
      await plain.close()
    }

    @Test func `a certificate out of its time is told with both times`() async throws {
      let authority = try WebAuthority()
      let begin = Date(timeIntervalSince1970: (Date().timeIntervalSince1970 - 7_200).rounded())
      let (certificate, key) = try authority.issue(validity: begin..<begin + 3_600)
      let server = try await HTTPSServer(.tls(certificate: certificate, key: key), authority: authority) {
        _ in .silence
      }
      let expired = try await error(of: server)
      #expect(expired?.code == .untrusted)
      #expect(expired?.message.contains("valid from \(begin.timeText)") == true)
      #expect(expired?.message.contains("the clock here says") == true)
    }

    @Test func `a refusal behind TLS is told with its status`() async throws {
      let server = try await HTTPSServer { _ in .answer(503, ["Retry-After: 7"], "") }
      let refused = try await error(of: server)
      #expect(refused?.code == .refused)
      #expect(refused?.message.contains("the server answers 503") == true)
      #expect(refused?.message.contains("it asks to wait 7 s") == true)
    }

    @Test func `authorities that cannot be read are named`() async throws {
      let server = try await HTTPSServer { _ in .silence }
      let missing = try await error(of: server, authority: "/nowhere/roots.pem")
      #expect(missing?.code == .untrusted)
      #expect(missing?.message.contains("the authorities in /nowhere/roots.pem cannot be read") == true)
    }
  }
#endif
