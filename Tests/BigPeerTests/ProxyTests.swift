#if Server
  import BigPeer
  import CRDTCore
  import Links
  import NIOCore
  import TestKit
  import Testing

  /// Web proxies before the HTTP listener.
  @Suite struct ProxyTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    @Test(arguments: [
      ("10.0.0.1", "10.0.0.1"), ("10.1.2.3/8", "10.0.0.0/8"), ("10.0.0.129/25", "10.0.0.128/25"),
      ("fd00::1/64", "fd00::/64"), ("::ffff:10.0.0.1", "10.0.0.1"), ("::ffff:10.1.0.0/104", "10.0.0.0/8"),
      ("10.0.0.0/33", nil), ("10.0.0.0/0", nil), ("::/0", nil), ("10.0.0.0/", nil), ("10.0.0.0/+8", nil),
      ("10.0.0.1:80", nil), ("proxy", nil), ("", nil), ("fd00::/129", nil), ("::ffff:10.0.0.0/96", nil),
    ])
    func `a proxy is an address or a network, in one form`(text: String, expected: String?) {
      #expect(ProxyAddresses.canonical(text) == expected)
    }

    @Test(arguments: [
      ("10.255.0.1", true), ("11.0.0.1", false), ("::ffff:10.0.0.7", true), ("192.168.0.129", true),
      ("192.168.0.127", false), ("fd00::7", true), ("fd00:0:0:1::7", false), ("::1", false),
    ])
    func `a network has the addresses that begin alike`(address: String, isIn: Bool) throws {
      let proxies: ProxyAddresses = ["10.0.0.0/8", "192.168.0.128/25", "fd00::/64"]
      let socket = try SocketAddress(ipAddress: address, port: 1)
      #expect(proxies.contains(socket) == isIn)
    }

    @Test func `what stands behind no address is not believed`() throws {
      let proxy = try SocketAddress(ipAddress: "127.0.0.1", port: 1)
      for elements: [Substring] in [["1.2.3.4", "unknown"], ["1.2.3.4", "_hidden", "127.0.0.1"], ["x"], []] {
        expect(ForwardedAddress(elements, from: proxy, proxies: ["127.0.0.0/8"]) == nil, "\(elements)")
      }
    }

    /// The addresses in the log, of a request with each of some headers.
    private func addresses(
      _ header: BigPeerConfiguration.ProxyHeader, _ requests: [[String: String]]
    ) async throws -> [String] {
      var configuration = RunningBigPeer.configuration(in: folder)
      configuration.http.proxies = ["127.0.0.0/8", "10.0.0.0/8"]
      configuration.http.proxyHeader = header
      let lines = LogLines()
      try await RunningBigPeer.with(configuration, logger: lines.logger) { running in
        let nobody = try APIClient(running.addresses.http, token: nil)
        for headers in requests { _ = try await nobody.execute("SELECT * FROM c", headers: headers) }
      }
      return lines.all.compactMap { line in
        guard line.contains("/store/execute") else { return nil }
        return line.firstMatch(of: /address=([^ ]+)/).map { String($0.output.1) }
      }
    }

    @Test func `a client's address stands in the header that is configured, and in no other`() async throws {
      let both = ["X-Forwarded-For": "203.0.113.7", "Forwarded": "for=203.0.113.8"]
      let found = try await addresses(
        .forwardedFor,
        [both, ["X-Forwarded-For": "1.1.1.1, 203.0.113.9, 10.1.2.3"], ["Forwarded": "for=1.1.1.1"]])
      #expect(found == ["203.0.113.7", "203.0.113.9", "127.0.0.1"])
      let other = try await addresses(
        .forwarded,
        [
          both, ["Forwarded": "for=1.1.1.1, For=\"[2001:db8::7]:4711\";proto=https, for=10.0.0.3;by=\"a,b\""],
          ["Forwarded": "for=unknown"], ["Forwarded": "for=1.1.1.1, for=_gone"],
          ["Forwarded": "for=1.1.1.1, proto=https"], ["X-Forwarded-For": "1.1.1.1"],
          ["Forwarded": "proto=https ; for=\"203.0.113.9\" "], ["Forwarded": "\"for=1.1.1.1"],
        ])
      #expect(
        other == [
          "203.0.113.8", "2001:db8::7", "127.0.0.1", "127.0.0.1", "127.0.0.1", "127.0.0.1", "203.0.113.9",
          "127.0.0.1",
        ])
    }

    @Test func `beyond loopback without TLS, proxies alone are answered`() async throws {
      var configuration = RunningBigPeer.configuration(in: folder)
      configuration.http.listen = ListenAddress(host: "0.0.0.0", port: 0)
      configuration.http.proxies = ["127.0.0.1"]
      try await RunningBigPeer.with(configuration) { running in
        let port = try #require(running.addresses.http?.split(separator: ":").last.map { String($0) })
        let client = try APIClient("http://127.0.0.1:\(port)", token: nil)
        for (headers, status) in [
          (["X-Forwarded-For": "203.0.113.7", "X-Forwarded-Proto": "https"], 401),
          (["X-Forwarded-For": "203.0.113.7"], 401), ([:], 401),
          (["X-Forwarded-For": "203.0.113.7", "X-Forwarded-Proto": "http"], 403),
          (["X-Forwarded-Proto": "HTTP"], 403),
          // The client's own words stand before what the proxy has seen.
          (["X-Forwarded-For": "1.1.1.1, 203.0.113.7", "X-Forwarded-Proto": "https, http"], 403),
          (["X-Forwarded-For": "1.1.1.1, 203.0.113.7", "X-Forwarded-Proto": "http, https"], 401),
        ] {
          let answer = try await client.execute("SELECT * FROM c", headers: headers)
          expectEqual(answer.status, status, "\(headers)")
          if status == 403 { expectEqual(answer.fields["code"], .string("insecure")) }
        }
      }
      configuration.http.proxies = ["10.0.0.1"]
      let lines = LogLines()
      try await RunningBigPeer.with(configuration, logger: lines.logger) { running in
        let port = try #require(running.addresses.http?.split(separator: ":").last.map { String($0) })
        let client = try APIClient("http://127.0.0.1:\(port)", token: nil)
        await #expect(throws: (any Error).self) { try await client.execute("SELECT * FROM c") }
        let metrics = try await APIClient(running.addresses.admin, token: nil).send("GET", "/metrics").text
        #expect(metrics.contains("bigpeer_http_connections_refused_total 1\n"))
      }
      #expect(lines.all.contains { $0.contains("only the web proxies of http.proxies may connect") })
    }
  }
#endif
