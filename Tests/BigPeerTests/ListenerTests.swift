#if Server
  import BigPeer
  import CRDTCore
  import Facade
  import Foundation
  import Hummingbird
  import Links
  import LoginKit
  import NIOCore
  import Synchronization
  import TestKit
  import Testing

  @Suite struct ListenerTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    @Test func `with a certificate the API speaks TLS, and nothing else`() async throws {
      var configuration = RunningBigPeer.configuration(in: folder)
      let authority = try WebAuthority()
      let (certificate, key) = try authority.issue()
      for (name, text) in [
        ("authority.pem", authority.certificate), ("chain.pem", certificate), ("key.pem", key),
      ] {
        try LoginRig.write(text, to: folder.file(name))
      }
      configuration.http.tls = BigPeerConfiguration.TLS(
        certificate: folder.file("chain.pem"), key: folder.file("key.pem"))
      let trusted = folder.file("authority.pem")
      try await RunningBigPeer.with(configuration) { running in
        let url = try #require(running.addresses.http)
        #expect(url.hasPrefix("https://"))
        let port = try #require(url.split(separator: ":").last)
        let client = HTTPSClient(authorityFile: trusted)
        let answer = try await client.post(
          Array("{}".utf8), to: HTTPSAddress("https://localhost:\(port)/api/v4/store/execute"))
        #expect(answer.status == 401)
        let plain = try APIClient(url, token: nil)
        await #expect(throws: (any Error).self) { try await plain.send("GET", "/api/openapi.json") }
      }
      configuration.http.tls = BigPeerConfiguration.TLS(certificate: trusted, key: trusted)
      let error = await #expect(throws: (any Error).self) {
        try await BigPeer(configuration, logger: quietLogger).run()
      }
      #expect("\(error.map { "\($0)" } ?? "")".contains("authority.pem has no private key"))
    }

    @Test func `a key that others can read is refused, with what to do`() async throws {
      let (certificate, key) = try WebAuthority().issue()
      let (chain, secret) = (folder.file("chain.pem"), folder.file("key.pem"))
      let shared = folder.file("shared.key")
      try LoginRig.write(certificate, to: chain, mode: 0o644)
      var tls = RunningBigPeer.configuration(in: folder)
      tls.http.tls = BigPeerConfiguration.TLS(certificate: chain, key: secret)
      var sharedKey = RunningBigPeer.configuration(in: folder)
      sharedKey.applications[0].identity = .sharedKey(file: shared)
      for (configuration, file, text, setting) in [
        (tls, secret, key, "http.tls.key"), (sharedKey, shared, DunlinSharedKey().text, "identity.key"),
      ] {
        for mode in [0o644, 0o604, 0o600] {
          try LoginRig.write(text, to: file, mode: mode)
          var refusal = ""
          do { try await configuration.verify() } catch { refusal = "\(error)" }
          expectEqual(refusal.contains(setting) && refusal.contains("chmod 600"), mode != 0o600, "\(refusal)")
        }
      }
    }

    @Test func `a renewed certificate is shown from a reload on, and a wrong one never`() async throws {
      var configuration = RunningBigPeer.configuration(in: folder)
      let authorities = [try WebAuthority(), try WebAuthority()]
      let issued = try authorities.map { try $0.issue() }
      for (number, authority) in authorities.enumerated() {
        try authority.certificate.write(
          toFile: folder.file("\(number).pem"), atomically: true, encoding: .utf8)
      }
      let (chain, key) = (folder.file("chain.pem"), folder.file("key.pem"))
      @Sendable func write(_ certificate: String, _ secret: String) throws {
        try certificate.write(toFile: chain, atomically: true, encoding: .utf8)
        try LoginRig.write(secret, to: key)
      }
      try write(issued[0].certificate, issued[0].key)
      configuration.http.tls = BigPeerConfiguration.TLS(certificate: chain, key: key)
      let roots = [folder.file("0.pem"), folder.file("1.pem")]
      try await RunningBigPeer.with(configuration) { running in
        let url = try #require(running.addresses.http)
        let port = try #require(url.split(separator: ":").last)
        func shown() async throws -> [Bool] {
          var trusted: [Bool] = []
          for root in roots {
            do {
              _ = try await HTTPSClient(authorityFile: root).post(
                Array("{}".utf8), to: HTTPSAddress("https://localhost:\(port)/api/v4/store/execute"))
              trusted.append(true)
            } catch let error as WebError where error.code == .untrusted {
              trusted.append(false)
            }
          }
          return trusted
        }
        let admin = try running.admin()
        #expect(try await shown() == [true, false])
        try write(issued[1].certificate, issued[0].key)
        let wrong = try await admin.send("POST", "/admin/reload")
        #expect(wrong.status == 422)
        #expect(wrong.text.contains("http.tls.key: "), "\(wrong.text)")
        #expect(try await shown() == [true, false])
        try write(issued[1].certificate, issued[1].key)
        #expect(try await shown() == [true, false])
        #expect(try await admin.send("POST", "/admin/reload").status == 200)
        #expect(try await shown() == [false, true])
        let nobody = try APIClient(running.addresses.admin, token: nil)
        #expect(try await nobody.send("POST", "/admin/reload").status == 401)
        let metrics = try await nobody.send("GET", "/metrics").text
        #expect(metrics.contains("bigpeer_reloads_total{outcome=\"done\"} 1\n"))
        #expect(metrics.contains("bigpeer_reloads_total{outcome=\"failed\"} 1\n"))
      }
    }

    @Test func `behind a proxy that is named, limits go by the client's address`() async throws {
      var configuration = RunningBigPeer.configuration(in: folder)
      configuration.http.proxies = ["127.0.0.1"]
      configuration.http.limits.requestsPerSecondByAddress = 2
      try await RunningBigPeer.with(configuration) { running in
        let nobody = try APIClient(running.addresses.http, token: nil)
        var statuses: [Int] = []
        for number in 0..<12 {
          let answer = try await nobody.execute(
            "SELECT * FROM c", headers: ["X-Forwarded-For": "1.2.3.4, 10.0.0.\(number)"])
          statuses.append(answer.status)
        }
        #expect(Set(statuses) == [401])
        // At once: on a busy machine one after the other may come slowly enough.
        statuses = try await withThrowingTaskGroup(of: Int.self) { tasks in
          for number in 0..<12 {
            tasks.addTask {
              // What a client writes itself stands before what the proxy has seen.
              let headers = ["X-Forwarded-For": "10.1.0.\(number), 10.9.9.9"]
              return try await nobody.execute("SELECT * FROM c", headers: headers).status
            }
          }
          return try await tasks.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses.contains(429))
      }
    }

    @Test func `a proxy is known in either form of its address`() throws {
      let mapped = try SocketAddress(ipAddress: "::ffff:127.0.0.1", port: 1)
      let forwarded = try #require(
        ForwardedAddress(["::ffff:10.0.0.9", "127.0.0.1"], from: mapped, proxies: ["127.0.0.1"]))
      #expect(forwarded.text == "10.0.0.9")
      #expect(ForwardedAddress(["10.0.0.9"], from: mapped, proxies: ["127.0.0.2"]) == nil)
    }

    @Test(arguments: ["-5", "7fffffffffffffff", "5", "x"])
    func `a client refuses chunks that are none`(length: String) {
      let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
      #expect(PlainHTTPClient.parse(Array("\(head)\(length)\r\nab".utf8)) == nil)
    }

    @Test func `one key has so many requests in flight, and a stop lets them end`() async throws {
      var configuration = RunningBigPeer.configuration(in: folder)
      configuration.http.limits.requestsByKey = 2
      let answers = try await RunningBigPeer.with(configuration) { running -> [Task<Int, any Error>] in
        let api = try await running.api()
        let token = try #require(
          try await api.execute("INSERT INTO c DOCUMENTS ({'_id': 1})").fields["transactionId"]?.text)
        let later = "\(token.split(separator: "-")[0])-ffffff"
        let waiting = (0..<2).map { _ in
          Task { try await api.execute("SELECT * FROM c", headers: ["Dunlin-Transaction": later]).status }
        }
        let nobody = try APIClient(running.addresses.admin, token: nil)
        var areWaiting = false
        for _ in 0..<200 where !areWaiting {
          areWaiting = try await nobody.send("GET", "/metrics").text.contains(
            "bigpeer_http_requests_in_flight 2\n")
          if !areWaiting { try await Task.sleep(for: .milliseconds(5)) }
        }
        if areWaiting {
          let third = try await api.execute("SELECT * FROM c")
          #expect(third.status == 503 || third.status == 200)
        }
        return waiting
      }
      // They were answered, and not cut off.
      for answer in answers { try await expectEqual(answer.value, 503) }
    }

    @Test func `a certificate that has ended fails check and reload, and a start goes on`() async throws {
      let authority = try WebAuthority()
      let (chain, key) = (folder.file("chain.pem"), folder.file("key.pem"))
      func write(_ validity: Range<Date>) throws {
        let issued = try authority.issue(validity: validity)
        try issued.certificate.write(toFile: chain, atomically: true, encoding: .utf8)
        try LoginRig.write(issued.key, to: key)
      }
      // Certificates have whole seconds.
      let now = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded(.down))
      var configuration = RunningBigPeer.configuration(in: folder)
      configuration.http.tls = BigPeerConfiguration.TLS(certificate: chain, key: key)
      try write(now + 3_600..<now + 7_200)
      let wrong = configuration
      let early = await #expect(throws: ConfigurationError.self) { try await wrong.verify() }
      #expect(early?.description.contains("http.tls.certificate: ") == true)
      #expect(early?.description.contains("is not valid before") == true)
      try write(now - 7_200..<now - 3_600)
      let late = await #expect(throws: ConfigurationError.self) { try await wrong.verify() }
      #expect(late?.description.contains("has ended at") == true)
      try await RunningBigPeer.with(configuration) { running in
        let admin = try running.admin()
        let refused = try await admin.send("POST", "/admin/reload")
        #expect(refused.status == 422)
        #expect(refused.text.contains("has ended at"), "\(refused.text)")
        let end = Int((now - 3_600).timeIntervalSince1970)
        let metrics = try await APIClient(running.addresses.admin, token: nil).send("GET", "/metrics").text
        #expect(metrics.contains("bigpeer_certificate_end_seconds{use=\"http\"} \(end)\n"), "\(metrics)")
      }
    }

    @Test func `the description lists all routes of the interface and no other`() async throws {
      let applications = try await HostedApplications.open([], [], logger: quietLogger)
      let router = Router(context: ServerContext.self)
      for route in BigPeer.interfaceRoutes(APIGate(applications, BigPeerConfiguration.HTTP(), now: { 0 })) {
        route.add(to: router)
      }
      let routes = Set(
        router.routes.map { route in
          let parts = "\(route.path)".split(separator: "/").map { part in
            part.hasPrefix(":") ? "{\(part.dropFirst())}" : String(part)
          }
          return "\(route.method) /\(parts.joined(separator: "/"))"
        })
      let described = try await description()
      #expect(described.subtracting(routes).sorted() == [], "described, but there is no such route")
      #expect(routes.subtracting(described).sorted() == [], "a route that is not described")
    }

    @Test func `what the description lists needs a key`() async throws {
      let described = try await description()
      #expect(described.count >= 12)
      try await RunningBigPeer.with(RunningBigPeer.configuration(in: folder)) { running in
        let nobody = try APIClient(running.addresses.http, token: nil)
        for operation in described where operation != "GET /api/openapi.json" {
          let words = operation.split(separator: " ").map(String.init)
          try await expectEqual(nobody.send(words[0], words[1], "{}").status, 401, "\(operation)")
        }
      }
    }

    /// The operations of the description: `POST /api/v4/store/execute`.
    private func description() async throws -> Set<String> {
      let found = Mutex(Set<String>())
      try await RunningBigPeer.with(RunningBigPeer.configuration(in: folder)) { running in
        let answer = try await APIClient(running.addresses.http, token: nil).send("GET", "/api/openapi.json")
        #expect(answer.status == 200)
        let description = try JSON.parse(answer.body)
        #expect(description["openapi"] == .string("3.1.0"))
        guard case .map(let paths)? = description["paths"] else { return }
        for (path, operations) in paths {
          guard case .map(let methods) = operations else { continue }
          found.withLock { $0.formUnion(methods.keys.map { "\($0.text.uppercased()) \(path.text)" }) }
        }
      }
      return found.withLock { $0 }
    }
  }
#endif
