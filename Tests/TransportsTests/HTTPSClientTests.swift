#if TLS
  import Foundation
  import LoginKit
  import NIOConcurrencyHelpers
  import NIOCore
  import NIOSSL
  import TestKit
  import Testing

  @testable import Links

  /// The client of web services, against a server that answers rightly and wrongly.
  @Suite(.timeLimit(.minutes(15))) struct HTTPSClientTests {
    private func ask(
      _ server: HTTPSServer, host: String = "localhost", authority: String? = nil,
      _ change: (inout HTTPSClient.Limits) -> Void = { _ in }
    ) async throws -> HTTPSAnswer {
      var client = HTTPSClient(authorityFile: authority ?? server.authorityFile)
      change(&client.limits)
      return try await client.post(
        Array("{}".utf8), to: HTTPSAddress("https://\(host):\(server.port)/a/service"))
    }

    private func failure(_ body: () async throws -> HTTPSAnswer) async -> WebError? {
      do {
        let answer = try await body()
        Issue.record("It was answered with \(answer.status)")
        return nil
      } catch {
        return error as? WebError
      }
    }

    @Test func `an answer comes with what its head says`() async throws {
      let server = try await HTTPSServer { _ in
        .answer(
          503,
          [
            "Content-Type: Application/JSON; charset=utf-8", "Retry-After: 7",
            "Date: Sun, 06 Nov 1994 08:49:37 GMT", "Location: /there",
          ], "sorry")
      }
      let answer = try await ask(server)
      #expect(answer.status == 503)
      #expect(answer.body == Array("sorry".utf8))
      #expect(answer.contentType == "application/json")
      #expect(answer.retryAfter == .seconds(7))
      #expect(answer.location == "/there")
      #expect(answer.date == Date(timeIntervalSince1970: 784_111_777))
      let request = try #require(server.requests.first)
      #expect(request.path == "/a/service")
      #expect(request.head.hasPrefix("POST "))
      #expect(request.head.contains("Host: localhost:\(server.port)"))
      #expect(request.body == Array("{}".utf8))
    }

    @Test(arguments: ["127.0.0.1", "[::1]"])
    func `without TLS a service of this machine is asked, where that is allowed`(_ host: String) async throws
    {
      let server = try await HTTPSServer(.plain) { _ in .answer(200, ["Content-Type: application/json"], "{}")
      }
      let address = try HTTPSAddress(orLoopback: "HTTP://\(host):\(server.port)/hook/")
      // The path of a webhook may be a secret, so messages leave it out.
      #expect("\(address)" == "http://\(host):\(server.port)" && address.path == "/hook")
      // The server listens on the first of the two.
      guard host == "127.0.0.1" else { return }
      let answer = try await HTTPSClient().post(Array("[1]".utf8), to: address)
      #expect(answer.status == 200)
      #expect(answer.body == Array("{}".utf8))
      #expect(server.requests.map(\.path) == ["/hook"])
      #expect(server.requests.first?.body == Array("[1]".utf8))
    }

    @Test(arguments: [
      "http://example.com/hook", "http://localhost:3000/", "http://127.0.0.1.example.com/",
      "http://127.0.0.1@example.com/", "http://127.0.0.2/", "http://0.0.0.0/", "http://10.0.0.1/",
      "http://[::ffff:127.0.0.1]/", "ftp://127.0.0.1/", "http://127.0.0.1/?a", "127.0.0.1", "",
    ])
    func `without TLS nothing else can be named`(_ text: String) {
      let error = #expect(throws: LoginError.self) { try HTTPSAddress(orLoopback: text) }
      #expect(error?.code == .argument)
      #expect(throws: LoginError.self) { try HTTPSAddress("http://127.0.0.1:3000/hook") }
    }

    @Test func `a service without TLS that goes away, says nothing or speaks no HTTP is a failure`()
      async throws
    {
      for (reply, code) in [
        (HTTPSServer.Reply.end, WebError.Code.unreachable), (.bytes("what?"), .answer),
        (.silence, .timedOut),
      ] {
        let server = try await HTTPSServer(.plain) { _ in reply }
        var client = HTTPSClient()
        // The others have all the time that they need.
        if code == .timedOut { client.limits.answering = .milliseconds(300) }
        let address = try HTTPSAddress(orLoopback: "http://127.0.0.1:\(server.port)")
        let error = await failure { try await client.post([], to: address) }
        expectEqual(error?.code, code, "\(String(describing: error))")
      }
    }

    @Test(arguments: [("-5", 0), ("999999999999", 3_600), ("Sun, 06 Nov 1994 08:50:37 GMT", 60)])
    func `a wish to wait is bounded`(_ text: String, _ seconds: Int) async throws {
      let server = try await HTTPSServer { _ in
        .answer(429, ["Retry-After: \(text)", "Date: Sun, 06 Nov 1994 08:49:37 GMT"], "")
      }
      #expect(try await ask(server).retryAfter == .seconds(seconds))
    }

    @Test func `an answer may be as long as the limit, and no longer`() async throws {
      let text = String(repeating: "x", count: 64 << 10)
      let server = try await HTTPSServer { _ in .answer(200, [], text) }
      #expect(try await ask(server).body.count == 64 << 10)
      server.answer { _ in .answer(200, [], text + "x") }
      #expect(await failure { try await ask(server) }?.code == .answer)
      // Where no length is said before.
      server.answer { _ in .bytes("HTTP/1.1 200 OK\r\n\r\n" + text + "x") }
      let error = await failure { try await ask(server) }
      #expect(error?.code == .answer)
      #expect(error?.message.contains("more than 65536 bytes") == true, "\(String(describing: error))")
    }

    @Test func `an answer may come in chunks, to the same limit`() async throws {
      let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
      let server = try await HTTPSServer { _ in .bytes(head + "2\r\nab\r\n1\r\nc\r\n0\r\n\r\n") }
      #expect(try await ask(server).body == Array("abc".utf8))
      let chunk = "4000\r\n" + String(repeating: "x", count: 16 << 10) + "\r\n"
      server.answer { _ in .bytes(head + String(repeating: chunk, count: 5) + "0\r\n\r\n") }
      #expect(await failure { try await ask(server) }?.code == .answer)
      // The end does not come.
      server.answer { _ in .bytes(head + "2\r\nab\r\n") }
      #expect(await failure { try await ask(server) } != nil)
    }

    @Test(arguments: [
      "no answer at all\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
      "HTTP/1.1 200 OK\r\nLong: \(String(repeating: "y", count: 20_000))\r\n\r\n",
      "HTTP/1.1 200 OK\r\n" + (0..<100).map { "A\($0): b\r\n" }.joined() + "\r\n",
    ])
    func `what is no answer of HTTP is refused`(_ bytes: String) async throws {
      let server = try await HTTPSServer { _ in .bytes(bytes) }
      let error = await failure { try await ask(server) }
      #expect(error?.code == .answer, "\(String(describing: error))")
      #expect(error?.message.contains("https://localhost:\(server.port)/a/service") == true)
    }

    @Test(arguments: ["", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"])
    func `an answer that breaks off is none`(_ bytes: String) async throws {
      let server = try await HTTPSServer { _ in .bytes(bytes) }
      let error = await failure { try await ask(server) }
      #expect(error?.code == .unreachable || error?.code == .answer, "\(String(describing: error))")
    }

    @Test func `an early answer does not count`() async throws {
      let server = try await HTTPSServer { _ in
        .bytes("HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
      }
      let answer = try await ask(server)
      #expect(answer.status == 200)
      #expect(answer.body == Array("ok".utf8))
    }

    @Test func `a request has the method and the fields of its head that are asked for`() async throws {
      let server = try await HTTPSServer(.plain) { _ in .answer(200, [], "{}") }
      let address = try HTTPSAddress(
        request: "http://127.0.0.1:\(server.port)/a/?key=1", allowsPlain: true)
      let answer = try await HTTPSClient().send(
        "GET", headers: [("Accept", "*/*"), ("X-More", "yes")], to: address)
      #expect(answer.body == Array("{}".utf8))
      _ = try await HTTPSClient().send("DELETE", to: address)
      _ = try await HTTPSClient().send("POST", to: address)
      let requests = server.requests
      #expect(requests.map(\.path) == Array(repeating: "/a/?key=1", count: 3))
      #expect(requests[0].head.hasPrefix("GET "))
      #expect(requests[0].head.contains("Accept: */*") && requests[0].head.contains("X-More: yes"))
      #expect(!requests[0].head.contains("application/json"))
      #expect(!requests[0].head.lowercased().contains("content-"))
      #expect(requests[1].head.hasPrefix("DELETE ") && requests[1].body.isEmpty)
      #expect(requests[2].head.contains("Content-Length: 0"))
      #expect(!"\(address)".contains("key"))
    }

    @Test func `where the body is not read, the head is the answer`() async throws {
      let server = try await HTTPSServer { _ in
        .bytes("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\npart")
      }
      var client = HTTPSClient(authorityFile: server.authorityFile)
      let address = try HTTPSAddress("https://localhost:\(server.port)")
      #expect(await failure { try await client.post([], to: address) }?.code == .answer)
      client.readsBody = false
      let answer = try await client.post([], to: address)
      #expect(answer.status == 200 && answer.body.isEmpty)
    }

    // MARK: - Addresses that are admitted

    @Test(arguments: ["localhost", "127.0.0.1"])
    func `an address that is not admitted gets no connection`(_ host: String) async throws {
      let server = try await HTTPSServer(.plain) { _ in .answer(200, [], "") }
      let address = try HTTPSAddress(request: "http://\(host):\(server.port)/", allowsPlain: true)
      var client = HTTPSClient()
      let asked = NIOLockedValueBox<[SocketAddress]>([])
      client.admits = { place in
        asked.withLockedValue { $0.append(place) }
        return false
      }
      let error = await failure { try await client.post([], to: address) }
      #expect(error?.code == .notAdmitted, "\(String(describing: error))")
      #expect(error?.message.contains(host) == true)
      // Each address that the name leads to was asked about, and it is the one of the connection.
      let places = asked.withLockedValue { $0 }
      #expect(places.contains { $0.ipAddress == "127.0.0.1" })
      #expect(places.allSatisfy { $0.port == server.port })
      #expect(server.requests.isEmpty)
    }

    @Test func `of the addresses of a name those are tried that are admitted`() async throws {
      let server = try await HTTPSServer(.plain) { _ in .answer(200, [], "") }
      let address = try HTTPSAddress(request: "http://localhost:\(server.port)/", allowsPlain: true)
      var client = HTTPSClient()
      client.admits = { $0.protocol == .inet }
      #expect(try await client.post([], to: address).status == 200)
      // Nobody listens: that tells more than that another address is not admitted.
      try await server.stop()
      let error = await failure { try await client.post([], to: address) }
      #expect(error?.code == .unreachable, "\(String(describing: error))")
    }

    // MARK: - Trust

    @Test func `an authority that is not given is not trusted, nor is another name`() async throws {
      let server = try await HTTPSServer { _ in .answer(200, [], "") }
      let other = try await HTTPSServer { _ in .answer(200, [], "") }
      // Those of the system, where there are any, and another one.
      let bySystem = await failure {
        try await HTTPSClient().post([], to: HTTPSAddress("https://localhost:\(server.port)"))
      }
      #expect(bySystem?.code == .untrusted)
      let byOther = await failure { try await ask(server, authority: other.authorityFile) }
      #expect(byOther?.code == .untrusted)
      #expect(byOther?.message.contains("authority") == true, "\(String(describing: byOther))")
      let byName = await failure { try await ask(server, host: "127.0.0.1") }
      #expect(byName?.code == .untrusted)
      #expect(byName?.message.contains("not for the name 127.0.0.1") == true, "\(String(describing: byName))")
      #expect(server.requests.isEmpty)
    }

    @Test(arguments: [-7_200.0, 3_600.0])
    func `a certificate out of its time is refused with both times`(_ start: TimeInterval) async throws {
      let authority = try WebAuthority()
      let begin = Date(timeIntervalSince1970: (Date().timeIntervalSince1970 + start).rounded())
      let (certificate, key) = try authority.issue(validity: begin..<begin + 3_600)
      let server = try await HTTPSServer(.tls(certificate: certificate, key: key), authority: authority) {
        _ in
        .answer(200, [], "")
      }
      let error = await failure { try await ask(server) }
      #expect(error?.code == .untrusted)
      #expect(
        error?.message.contains("valid from \(begin.timeText)") == true,
        "\(String(describing: error))")
      #expect(error?.message.contains("the clock here says") == true)
      #expect(server.requests.isEmpty)
    }

    @Test func `a certificate that ends before it begins is refused like others`() throws {
      let (past, future) = (Date(timeIntervalSince1970: 1_000), Date(timeIntervalSince1970: 2_000))
      let address = try HTTPSAddress("https://example.org/")
      let failure = WebTrustFailure(
        report: "CERTIFICATE_VERIFY_FAILED", isForAnotherName: false,
        validity: (future, past), now: Date())
      #expect(failure.error(at: address).message.contains("valid from"))
    }

    @Test func `a service without TLS, or with an old one, is refused`() async throws {
      let plain = try await HTTPSServer(.plain) { _ in .answer(200, [], "") }
      // It waits for a request, and sees none that it knows; so it has to be told to speak first.
      let authority = try WebAuthority()
      let (certificate, key) = try authority.issue()
      let old = try await HTTPSServer(
        .tls(certificate: certificate, key: key, latest: .tlsv11), authority: authority
      ) { _ in .answer(200, [], "") }
      let error = await failure { try await ask(old) }
      #expect(error?.code == .untrusted, "\(String(describing: error))")
      #expect(old.requests.isEmpty)
      let silent = await failure {
        try await ask(plain) { $0.connecting = .milliseconds(200) }
      }
      #expect(silent?.code == .timedOut)
      #expect(plain.requests.isEmpty)
    }

    @Test(arguments: [
      "http://localhost/", "localhost", "https://", "https://a b", "https://a/?q", "https://u@a/",
      "HTTPS://a:0/",
    ])
    func `what is no address with TLS is refused before anything is sent`(_ text: String) {
      let error = #expect(throws: LoginError.self) { try HTTPSAddress(text) }
      #expect(error?.code == .argument)
      #expect(error?.message.contains(text) == true)
    }

    @Test func `an address has one form`() throws {
      #expect("\(try HTTPSAddress("HTTPS://Example.COM:443/Path//"))" == "https://example.com/Path")
      #expect("\(try HTTPSAddress("https://[::1]:8443"))" == "https://[::1]:8443")
      #expect("\(try HTTPSAddress("https://a/").part("login"))" == "https://a/login")
    }

    // MARK: - Time

    @Test func `who says nothing is waited for to a limit`() async throws {
      let server = try await HTTPSServer { _ in .silence }
      let error = await failure { try await ask(server) { $0.answering = .milliseconds(300) } }
      #expect(error?.code == .timedOut)
      #expect(error?.message.contains("300 ms") == true, "\(String(describing: error))")
    }

    @Test func `one limit holds for the whole question`() async throws {
      // It accepts connections, and never speaks TLS.
      let server = try await HTTPSServer(.plain) { _ in .silence }
      let start = ContinuousClock.now
      let error = await failure {
        try await ask(server) { ($0.connecting, $0.answering) = (.seconds(120), .milliseconds(300)) }
      }
      #expect(error?.code == .timedOut)
      #expect(.now - start < .seconds(60))
    }

    @Test func `who gives up is let go at once`() async throws {
      let (asked, arrived) = AsyncStream.makeStream(of: Void.self)
      let server = try await HTTPSServer { _ in
        arrived.yield()
        return .silence
      }
      let task = Task { try await ask(server) }
      for await _ in asked { break }
      task.cancel()
      let error = await failure { try await task.value }
      #expect(error?.code == .cancelled)
    }

    @Test func `where nobody listens, the address is named`() async throws {
      let server = try await HTTPSServer { _ in .end }
      try await server.stop()
      let error = await failure { try await ask(server) }
      #expect(error?.code == .unreachable)
      #expect(error?.message.contains("localhost:\(server.port)") == true)
      let unknown = await failure {
        try await HTTPSClient().post([], to: HTTPSAddress("https://nowhere.invalid/"))
      }
      #expect(unknown?.code == .unreachable)
    }

    @Test func `the authorities are read once`() async throws {
      let server = try await HTTPSServer { _ in .answer(200, [], "") }
      let folder = try TemporaryDirectory()
      let file = folder.file("authority.pem")
      try FileManager.default.copyItem(atPath: server.authorityFile, toPath: file)
      let client = HTTPSClient(authorityFile: file)
      let address = try HTTPSAddress("https://localhost:\(server.port)")
      #expect(try await client.post([], to: address).status == 200)
      try FileManager.default.removeItem(atPath: file)
      #expect(try await client.post([], to: address).status == 200)
    }

    @Test func `a file with authorities that is none is named`() async throws {
      let server = try await HTTPSServer { _ in .answer(200, [], "") }
      let error = await failure { try await ask(server, authority: "/nowhere/authority.pem") }
      #expect(error?.code == .untrusted)
      #expect(error?.message.contains("/nowhere/authority.pem") == true)
    }
  }
#endif
