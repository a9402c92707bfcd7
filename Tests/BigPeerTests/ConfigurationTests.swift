#if Server
  import BigPeer
  import Foundation
  import Logging
  import TestKit
  import Testing

  @Suite struct ConfigurationTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private var file: String { folder.file("bigpeer.json") }

    private func load(
      _ text: String, _ change: (inout BigPeerSettings) -> Void = { _ in }
    ) throws -> BigPeerConfiguration {
      try text.write(toFile: file, atomically: true, encoding: .utf8)
      var settings = BigPeerSettings()
      settings.set(.config, flag: file)
      change(&settings)
      return try BigPeerConfiguration.load(settings)
    }

    private func mistake(
      _ text: String, _ change: (inout BigPeerSettings) -> Void = { _ in }
    ) -> String? {
      do {
        _ = try load(text, change)
        return nil
      } catch {
        return "\(error)".replacing(file, with: "FILE")
      }
    }

    @Test func `a data directory alone is a configuration of one application on loopback`() throws {
      var settings = BigPeerSettings()
      settings.set(.data, flag: folder.path)
      let configuration = try BigPeerConfiguration.load(settings)
      #expect(configuration.applications.map(\.id) == ["default"])
      #expect(configuration.applications[0].folder == folder.file("applications/default"))
      #expect(configuration.applications[0].identity == .sharedKey(file: nil))
      #expect(configuration.applications[0].devices.filter { !$0.isLoopback }.isEmpty)
      #expect(configuration.http.listen?.isLoopback == true)
      #expect(configuration.admin.listen?.isLoopback == true)
    }

    @Test func `each setting of a file is read, and paths are relative to the file`() throws {
      for name in ["tls.pem", "tls.key", "shop.key", "authority.pem", "own.pem"] {
        try "x".write(toFile: folder.file(name), atomically: true, encoding: .utf8)
      }
      let configuration = try load(
        """
        {
          "data": "data", "logLevel": "warning", "stopTime": "2s",
          "applications": [
            { "id": "shop", "name": "hub", "identity": { "kind": "sharedKey", "key": "shop.key" },
              "devices": { "listen": ["0.0.0.0:4040", "[::1]:4041"], "webSocket": ["127.0.0.1:4042"],
                           "webProxies": ["127.0.0.1"] },
              "subscribe": ["orders"], "pullKnownCollections": false,
              "limits": { "sessions": 10, "deviceMemory": "2 MiB", "allDevicesMemory": 8388608, "dataBytes": "1 GiB",
                          "tombstoneLifetime": "72h", "certificateLifetime": "365d" } },
            { "id": "a/b", "folder": "other",
              "identity": { "kind": "certificate", "authority": "authority.pem", "certificate": "own.pem" },
              "devices": { "listen": [] }, "limits": { "tombstoneLifetime": 86400, "certificateLifetime": 0 } }
          ],
          "http": { "listen": "0.0.0.0:443", "tls": { "certificate": "tls.pem", "key": "tls.key" },
                    "origins": ["https://example.org"], "proxies": ["10.0.0.1"],
                    "limits": { "body": "1 MiB", "rows": 5, "statementTime": "250ms", "idleTime": 7 } },
          "admin": { "on": false }
        }
        """)
      #expect(configuration.data == folder.file("data"))
      #expect(configuration.logLevel == .warning)
      #expect(configuration.stopTime == .seconds(2))
      let shop = configuration.applications[0]
      #expect(shop.name == "hub")
      #expect(shop.folder == folder.file("data/applications/shop"))
      #expect(shop.identity == .sharedKey(file: folder.file("shop.key")))
      #expect(
        shop.devices == [
          ListenAddress(host: "0.0.0.0", port: 4_040), ListenAddress(host: "::1", port: 4_041),
        ])
      #expect(shop.webSockets == [ListenAddress(host: "127.0.0.1", port: 4_042)])
      #expect(shop.webProxies == ["127.0.0.1"])
      #expect(shop.subscriptions == ["orders"])
      #expect(!shop.pullsKnownCollections)
      #expect(shop.limits.sessions == 10)
      #expect(shop.limits.deviceMemoryBytes == 2 << 20)
      #expect(shop.limits.allDevicesMemoryBytes == 8 << 20)
      #expect(shop.limits.mapBytes == 1 << 30)
      #expect(shop.limits.tombstoneLifetime == .seconds(3 * 86_400))
      #expect(shop.limits.certificateLifetime == .seconds(365 * 86_400))
      let other = configuration.applications[1]
      #expect(other.folder == folder.file("other"))
      #expect(
        other.identity
          == .certificate(authority: folder.file("authority.pem"), certificate: folder.file("own.pem")))
      #expect(other.devices.isEmpty)
      #expect(other.limits.tombstoneLifetime == .seconds(86_400))
      #expect(other.limits.certificateLifetime == nil)
      #expect(configuration.http.listen == ListenAddress(host: "0.0.0.0", port: 443))
      #expect(configuration.http.tls?.certificate == folder.file("tls.pem"))
      #expect(configuration.http.origins == ["https://example.org"])
      #expect(configuration.http.limits.bodyBytes == 1 << 20)
      #expect(configuration.http.limits.rows == 5)
      #expect(configuration.http.limits.statementTime == .milliseconds(250))
      #expect(configuration.http.limits.idleTime == .seconds(7))
      #expect(configuration.admin.listen == nil)
    }

    @Test(arguments: [
      ("{\n \"data\": \"d\",\n}", "FILE:3: this is not JSON"),
      ("[1]", "FILE:1: the configuration must be an object"),
      ("{}", "FILE:1: data: is missing"),
      ("{\"data\": \"d\",\n\n\"htp\": {}}", "FILE:3: htp: there is no such setting; there are admin"),
      ("{\"data\": 7}", "FILE:1: data: must be a text"),
      ("{\"data\": \"d\", \"logLevel\": \"loud\"}", "FILE:1: logLevel: must be one of trace"),
      ("{\"data\": \"d\",\n\"applications\": []}", "FILE:2: applications: must name at least one"),
      ("{\"data\": \"d\",\n\"applications\": [\n{}]}", "FILE:3: applications[0].id: is missing"),
      (
        "{\"data\": \"d\",\"applications\": [{\"id\": \"a\"},\n{\"id\":\n\"a\"}]}",
        "FILE:3: applications[1].id: another application has the id a"
      ),
      (
        "{\"data\": \"d\",\"applications\": [\n{\"id\": \"a\", \"name\": \"a\\u202Eb\"}]}",
        "FILE:2: applications[0].name: must have no control characters and no invisible ones"
      ),
      (
        "{\"data\": \"d\",\"applications\": [{\"id\": \"a\\u0085b\", \"folder\": \"f\"}]}",
        "FILE:1: applications[0].id: must have no control characters and no invisible ones"
      ),
      (
        "{\"data\": \"d\",\"applications\": [{\"id\": \"a b\"}]}",
        "FILE:1: applications[0].folder: is missing"
      ),
      (
        "{\"data\": \"d\",\"applications\": [{\"id\": \"a\",\n\"identity\": {\"kind\": \"magic\"}}]}",
        "FILE:2: applications[0].identity.kind: must be one of"
      ),
      (
        "{\"data\": \"d\",\"applications\": [{\"id\": \"a\",\n\"identity\": {\"kind\": \"sharedKey\", \"key\": \"none\"}}]}",
        "FILE:2: applications[0].identity.key: the file"
      ),
      (
        "{\"data\": \"d\",\"applications\": [{\"id\": \"a\", \"identity\": {\"kind\": \"development\"},\n\"devices\": {\"listen\": [\"0.0.0.0:1\"]}}]}",
        "FILE:2: applications[0].devices.listen[0]: without an identity nothing is encrypted"
      ),
      (
        "{\"data\": \"d\",\"http\": {\n\"listen\": \"0.0.0.0:80\"}}",
        "FILE:2: http.listen: without a certificate"
      ),
      (
        "{\"data\": \"d\",\"applications\": [{\"id\": \"a\", \"feed\": {\n\"streams\": 3001}}]}",
        "FILE:2: applications[0].feed.streams: must be a whole number from 1"
      ),
      ("{\"data\": \"d\",\"http\": {\n\"listen\": \"here\"}}", "FILE:2: http.listen: must be host:port"),
      ("{\"data\": \"d\",\"http\": {\n\"origins\": [\"*\"]}}", "FILE:2: http.origins: * is no origin"),
      (
        "{\"data\": \"d\",\"http\": {\"limits\": {\n\"rows\": 0}}}",
        "FILE:2: http.limits.rows: must be a whole number from 1"
      ),
      (
        "{\"data\": \"d\",\"http\": {\"limits\": {\n\"idleTime\": \"5 y\"}}}",
        "FILE:2: http.limits.idleTime: must be"
      ),
      (
        "{\"data\": \"d\",\"http\": {\"limits\": {\n\"body\": \"5 MB\"}}}",
        "FILE:2: http.limits.body: must be a number"
      ),
      (
        "{\"data\": \"d\",\"admin\": {\n\"listen\": \"10.0.0.1:1\"}}",
        "FILE:2: admin.listen: must be loopback"
      ),
      (
        "{\"data\": \"d\",\"http\": {\n\"proxies\": [\"10.0.0.1:80\"]}}",
        "FILE:2: http.proxies: 10.0.0.1:80 is no address"
      ),
      (
        "{\"data\": \"d\",\"applications\": [{\"id\": \"a\", \"devices\": {\n\"webProxies\": [\"proxy\"]}}]}",
        "FILE:2: applications[0].devices.webProxies: proxy is no address"
      ),
      (
        "{\"data\": \"d\",\"applications\": [{\"id\": \"a\", \"limits\": {\n\"tombstoneLifetime\": 0}}]}",
        "FILE:2: applications[0].limits.tombstoneLifetime: must be a time in whole hours from \"1h\""
      ),
      (
        "{\"data\": \"d\",\"applications\": [{\"id\": \"a\", \"limits\": {\n\"tombstoneLifetime\": \"90m\"}}]}",
        "FILE:2: applications[0].limits.tombstoneLifetime: must be a time in whole hours"
      ),
      (
        "{\"data\": \"d\",\"applications\": [{\"id\": \"a\", \"limits\": {\n\"certificateLifetime\": \"36526d\"}}]}",
        "FILE:2: applications[0].limits.certificateLifetime: must be 0, which means for ever, or a time"
      ),
      (
        "{\"data\": \"d\",\"http\": {\"listen\": \"127.0.0.1:8081\"}}",
        "FILE:1: http.listen: 127.0.0.1:8081 is in use by admin.listen, which is 127.0.0.1:8081"
      ),
      (
        "{\"data\": \"d\",\"admin\": {\"listen\": \"127.0.0.1:1\"},\"http\": {\n\"listen\": \"127.0.0.1:1\"}}",
        "FILE:1: admin.listen: 127.0.0.1:1 is in use by http.listen"
      ),
      (
        "{\"data\": \"d\",\"applications\": [{\"id\": \"a\",\n\"devices\": {\"listen\": [\"0.0.0.0:1\",\n\"127.0.0.1:1\"]}}]}",
        "FILE:3: applications[0].devices.listen[1]: 127.0.0.1:1 is in use by applications[0].devices.listen[0]"
      ),
      (
        "{\"data\": \"d\",\"applications\": [{\"id\": \"a\"},\n{\"id\": \"b\"}]}",
        "FILE:2: applications[1].devices.listen[0]: 127.0.0.1:4040 is in use by"
      ),
    ])
    func `a mistake is named with file, line and setting`(text: String, expected: String) {
      let message = mistake(text)
      #expect(message?.hasPrefix(expected) == true, "\(message ?? "no mistake")")
    }

    @Test func `all mistakes of a file are told at once, each with its line`() {
      let text = """
        { "data": 7, "logLevel": "loud", "htp": {},
          "applications": [
            { "id": "a", "nme": "x", "identity": { "kind": "magic" },
              "devices": { "listen": ["x"] }, "limits": { "sessions": 0, "dataBytes": "5 MB" } },
            { "name": 7, "identity": { "kind": "certificate" }, "feed": { "streams": 0, "stream": 1 } } ],
          "http": { "listen": "here", "limits": { "rows": 0, "headerCount": 1 }, "tls": {} },
          "admin": { "on": "yes", "listen": "there" } }
        """
      let expected = [
        "FILE:1: data: must be a text", "FILE:3: applications[0].identity.kind: must be one of",
        "FILE:4: applications[0].devices.listen: x: must be host:port",
        "FILE:4: applications[0].limits.sessions: must be",
        "FILE:4: applications[0].limits.dataBytes: must be",
        "FILE:3: applications[0].nme: there is no such setting", "FILE:5: applications[1].id: is missing",
        "FILE:5: applications[1].name: must be a text",
        "FILE:5: applications[1].identity.authority: is missing",
        "FILE:5: applications[1].identity.certificate: is missing",
        "FILE:5: applications[1].feed.streams: must be",
        "FILE:5: applications[1].feed.stream: there is no such setting",
        "FILE:6: http.listen: must be host:port",
        "FILE:6: http.tls.certificate: is missing", "FILE:6: http.tls.key: is missing",
        "FILE:6: http.limits.headerCount: must be", "FILE:6: http.limits.rows: must be",
        "FILE:7: admin.on: must be", "FILE:7: admin.listen: must be host:port",
        "FILE:1: logLevel: must be one of", "FILE:1: htp: there is no such setting",
      ]
      let told = mistake(text)?.split(separator: "\n").map(String.init) ?? []
      #expect(told.count == expected.count, "\(told)")
      for (line, beginning) in zip(told, expected) {
        expect(line.hasPrefix(beginning), "\(line): \(beginning)")
      }
    }

    @Test func `settings that do not go together, and flags, are told at once too`() throws {
      let rules = """
        {"data": "d", "applications": [{"id": "a", "identity": {"kind": "intermediate"}}, {"id": "a"}],
        "http": {"listen": "0.0.0.0:80"}, "admin": {"listen": "10.0.0.1:1"}}
        """
      let error = #expect(throws: ConfigurationError.self) { try load(rules) }
      #expect(
        error?.all.map(\.place) == [
          "\(file):1", "\(file):1", "\(file):2", "\(file):2", "\(file):1",
        ], "\(String(describing: error))")
      #expect(error?.others.count == 4 && error?.description.split(separator: "\n").count == 5)
      let flags = mistake("{\"data\": \"d\"}") { settings in
        settings.set(.http, flag: "x")
        settings.set(.key, flag: "k")
        settings.set(.logLevel, flag: "loud")
      }
      let places = flags?.split(separator: "\n").map { $0.prefix { $0 != ":" } }
      #expect(places == ["--key", "--http", "--log-level"], "\(flags ?? "")")
    }

    @Test func `flags come before the environment, and that before the file`() throws {
      let text =
        "{\"data\": \"d\", \"http\": {\"listen\": \"127.0.0.1:1\"}, \"admin\": {\"listen\": \"127.0.0.1:2\"}}"
      try text.write(toFile: file, atomically: true, encoding: .utf8)
      var settings = BigPeerSettings(environment: [
        "BIGPEER_CONFIG": file, "BIGPEER_HTTP": "127.0.0.1:3", "BIGPEER_ADMIN": "127.0.0.1:4",
        "BIGPEER_MONITOR": "0.0.0.0:7", "BIGPEER_LOG_LEVEL": "error", "BIGPEER_LOG_FORMAT": "json",
        "BIGPEER_SERVICE_HOST": "10.0.0.1",
      ])
      settings.set(.admin, flag: "off")
      settings.set(.devices, flag: "127.0.0.1:5,[::1]:6")
      let configuration = try BigPeerConfiguration.load(settings)
      #expect(configuration.http.listen == ListenAddress(host: "127.0.0.1", port: 3))
      #expect(configuration.admin.listen == nil)
      #expect(configuration.monitor.listen == ListenAddress(host: "0.0.0.0", port: 7))
      #expect(configuration.applications[0].devices.map(\.port) == [5, 6])
      #expect(configuration.logLevel == .error)
      #expect(configuration.logFormat == .json)
    }

    @Test(arguments: [
      (BigPeerSettings.Name.http, "0.0.0.0:80", "--http: without a certificate"),
      (.http, "x", "--http: x: must be host:port"), (.admin, "0.0.0.0:80", "--admin: must be loopback"),
      (.proxies, "10.0.0.0/0", "--proxies: 10.0.0.0/0 is no address"),
      (.monitor, "9090", "--monitor: 9090: must be host:port"),
      (.monitor, "0.0.0.0:8081", "--monitor: 0.0.0.0:8081 is in use by admin.listen"),
      (.devices, "127.0.0.1:1,x", "--devices: x: must be"),
      (.certificate, "c", "--certificate: a certificate needs"),
      (.key, "c", "--key: a key needs"), (.logLevel, "loud", "--log-level: must be"),
      (.logFormat, "xml", "--log-format: must be one of text, json"),
      (.application, "a/b", "--application: an application's id"),
    ])
    func `a mistake of a flag is named with the flag`(
      name: BigPeerSettings.Name, text: String, expected: String
    ) {
      let message = mistake("{\"data\": \"d\"}") { $0.set(name, flag: text) }
      #expect(message?.hasPrefix(expected) == true, "\(message ?? "no mistake")")
    }

    @Test(arguments: [BigPeerSettings.Name.devices, .webSocket])
    func `a flag does not open an application without an identity`(name: BigPeerSettings.Name) {
      let text =
        "{\"data\": \"d\", \"applications\": [{\"id\": \"a\", \"identity\": {\"kind\": \"development\"}}]}"
      let message = mistake(text) { $0.set(name, flag: "127.0.0.1:1,0.0.0.0:2") }
      #expect(
        message?.hasPrefix("\(name.flag): without an identity nothing is encrypted") == true,
        "\(message ?? "")")
    }

    @Test func `a certificate by flags lets the file's listener be open`() throws {
      for name in ["tls.pem", "tls.key"] {
        try "x".write(toFile: folder.file(name), atomically: true, encoding: .utf8)
      }
      let configuration = try load("{\"data\": \"d\", \"http\": {\"listen\": \"0.0.0.0:443\"}}") {
        $0.set(.certificate, flag: folder.file("tls.pem"))
        $0.set(.key, flag: folder.file("tls.key"))
      }
      #expect(configuration.http.listen == ListenAddress(host: "0.0.0.0", port: 443))
      #expect(configuration.http.tls?.certificate == folder.file("tls.pem"))
    }

    @Test func `what is switched off in the file stays off beside an address, and a flag switches it on`()
      throws
    {
      let text =
        "{\"data\": \"d\", \"http\": {\"on\": false, \"listen\": \"127.0.0.1:1\"}, \"admin\": {\"listen\": \"127.0.0.1:2\", \"on\": false}}"
      let configuration = try load(text)
      #expect(configuration.http.listen == nil)
      #expect(configuration.admin.listen == nil)
      #expect(try load(text) { $0.set(.http, flag: "127.0.0.1:3") }.http.listen?.port == 3)
    }

    @Test func `settings of code are judged before anything is opened`() async throws {
      func mistake(_ change: (inout BigPeerConfiguration) -> Void) async -> String {
        var configuration = RunningBigPeer.configuration(in: folder)
        change(&configuration)
        let error = await #expect(throws: ConfigurationError.self) {
          try await BigPeer(configuration, logger: quietLogger).run()
        }
        return error?.description ?? ""
      }
      let open = ListenAddress(host: "0.0.0.0", port: 0)
      #expect(await mistake { $0.http.listen = open }.hasPrefix("http.listen: without a certificate"))
      #expect(await mistake { $0.admin.listen = open }.hasPrefix("admin.listen: must be loopback"))
      let unproved = await mistake {
        $0.applications[0].identity = .development
        $0.applications[0].devices = [open]
      }
      #expect(unproved.hasPrefix("applications[0].devices.listen[0]: without an identity"))
      #expect(
        await mistake { $0.applications += $0.applications }.hasPrefix("applications[1].id: another")
      )
      #expect(await mistake { $0.applications = [] }.hasPrefix("applications: must name"))
      #expect(!FileManager.default.fileExists(atPath: folder.file("applications")))
    }

    @Test func `the format of the log is text or JSON`() throws {
      #expect(try load("{\"data\": \"d\"}").logFormat == .text)
      #expect(try load("{\"data\": \"d\", \"logFormat\": \"json\"}").logFormat == .json)
      let wrong = mistake("{\"data\": \"d\",\n\"logFormat\": \"xml\"}")
      #expect(wrong == "FILE:2: logFormat: must be one of text, json")
    }

    @Test func `plain HTTP beyond loopback needs proxies that are named`() throws {
      let open = "{\"data\": \"d\", \"http\": {\"listen\": \"0.0.0.0:8080\""
      #expect(mistake("\(open)}}")?.contains("or proxies that alone may connect") == true)
      #expect(mistake("\(open), \"proxies\": [\"10.0.0.0/8\"], \"proxyHeader\": \"forwarded\"}}") == nil)
      #expect(mistake("\(open)}}") { $0.set(.proxies, flag: "10.0.0.0/8,fd00::1") } == nil)
      let wrong = mistake("\(open), \"proxies\": [\"10.0.0.1\"], \"proxyHeader\": \"Via\"}}")
      #expect(wrong == "FILE:1: http.proxyHeader: must be X-Forwarded-For or Forwarded")
    }

    @Test func `addresses of web proxies are read in any form`() throws {
      let configuration = try load(
        "{\"data\": \"d\", \"http\": {\"proxies\": [\"::FFFF:10.0.0.1\", \"FD00::0001\", \"10.0.0.2\"]}}")
      #expect(configuration.http.proxies == ["10.0.0.1", "fd00::1", "10.0.0.2"])
    }

    @Test func `what is said of one application is refused where there are several`() {
      let text =
        "{\"data\": \"d\", \"applications\": [{\"id\": \"a\"}, {\"id\": \"b\", \"devices\": {\"listen\": []}}]}"
      #expect(mistake(text) { $0.set(.devices, flag: "off") }?.hasPrefix("--devices: there are 2") == true)
    }

    @Test func `a file that is not there is named with the flag`() {
      var settings = BigPeerSettings()
      settings.set(.config, flag: folder.file("none.json"))
      #expect(throws: ConfigurationError.self) { try BigPeerConfiguration.load(settings) }
      #expect(throws: ConfigurationError.self) { try BigPeerConfiguration.load(BigPeerSettings()) }
    }
  }
#endif
