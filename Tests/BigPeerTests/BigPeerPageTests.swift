#if Server
  import BigPeer
  import Foundation
  import TestKit
  import Testing

  /// The table of all settings in `Documentation/BigPeer.md`, beside the reader of the file.
  @Suite struct BigPeerPageTests {
    private let folder: TemporaryDirectory

    init() throws {
      folder = try TemporaryDirectory()
      try "x".write(toFile: folder.file("x.pem"), atomically: true, encoding: .utf8)
    }

    /// The defaults that the tables below "Every setting" give, by setting.
    private func table() throws -> [String: String] {
      let page = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Documentation/BigPeer.md").standardized
      let lines = try String(contentsOf: page, encoding: .utf8).split(separator: "\n")
      let section = lines.drop { $0 != "### Every setting" }.dropFirst().prefix { !$0.hasPrefix("###") }
      var defaults: [String: String] = [:]
      for line in section where line.hasPrefix("| `") {
        let cells = line.split(separator: " | ")
        try #require(cells.count == 3, "\(line)")
        let name = cells[0].dropFirst(3).dropLast()
        expect(defaults.updateValue(String(cells[1]), forKey: String(name)) == nil, "\(name) stands twice")
      }
      return defaults
    }

    /// The names that the reader knows in an object: it lists them where one is unknown.
    ///
    /// - Parameter text: A whole file, in which `UNKNOWN` stands for the member that no object has.
    /// - Returns: The names.
    /// - Throws: What is wrong with the file instead.
    private func names(_ text: String) throws -> [String] {
      let file = folder.file("bigpeer.json")
      try text.replacing("UNKNOWN", with: "\"zzz\": 1").write(toFile: file, atomically: true, encoding: .utf8)
      var settings = BigPeerSettings()
      settings.set(.config, flag: file)
      let error = try #require(throws: (any Error).self) { try BigPeerConfiguration.load(settings) }
      let message = "\(error)"
      let list = try #require(
        message.firstMatch(of: /zzz: there is no such setting; there are ([A-Za-z, ]+)/), "\(message)")
      return list.output.1.split(separator: ", ").map(String.init)
    }

    /// A file in which the only application has the given members.
    private static func application(_ members: String) -> String {
      #"{"data": "d", "applications": [{"id": "a", \#(members)}]}"#
    }

    private static let login = #""url": "https://a/b", "webhook": "https://a/c", "#

    /// The objects of a file by their paths; where their kinds differ in what they have, each kind.
    private static let objects = [
      ("", #"{"data": "d", UNKNOWN}"#),
      ("admin", #"{"data": "d", "admin": {UNKNOWN}}"#),
      ("monitor", #"{"data": "d", "monitor": {UNKNOWN}}"#),
      ("http", #"{"data": "d", "http": {UNKNOWN}}"#),
      ("http.tls", #"{"data": "d", "http": {"tls": {"certificate": "x.pem", "key": "x.pem", UNKNOWN}}}"#),
      ("http.limits", #"{"data": "d", "http": {"limits": {UNKNOWN}}}"#),
      ("applications", application("UNKNOWN")),
      ("applications.identity", application(#""identity": {"kind": "sharedKey", UNKNOWN}"#)),
      (
        "applications.identity",
        application(
          #""identity": {"kind": "certificate", "authority": "x.pem", "certificate": "x.pem", UNKNOWN}"#)
      ),
      ("applications.identity", application(#""identity": {"kind": "intermediate", UNKNOWN}"#)),
      ("applications.identity", application(#""identity": {"kind": "development", UNKNOWN}"#)),
      ("applications.devices", application(#""devices": {UNKNOWN}"#)),
      ("applications.limits", application(#""limits": {UNKNOWN}"#)),
      ("applications.feed", application(#""feed": {UNKNOWN}"#)),
      (
        "applications.login", application(#""login": {\#(login) "authority": {"file": "x.pem"}, UNKNOWN}"#)
      ),
      (
        "applications.login.authority",
        application(#""login": {\#(login) "authority": {"file": "x.pem", UNKNOWN}}"#)
      ),
      (
        "applications.login.webhookSecret",
        application(
          #""login": {\#(login) "authority": {"file": "x.pem"}, "webhookSecret": {"file": "x.pem", UNKNOWN}}"#
        )
      ),
      (
        "applications.login.limits",
        application(#""login": {\#(login) "authority": {"file": "x.pem"}, "limits": {UNKNOWN}}"#)
      ),
    ]

    @Test func `the page has each setting that the reader knows, and no other`() throws {
      let paths = Set(Self.objects.map(\.0))
      var known: Set<String> = []
      for (path, text) in Self.objects {
        for name in try names(text) { known.insert(path.isEmpty ? name : "\(path).\(name)") }
      }
      // Objects have no row of their own, except for the list of applications.
      let settings = known.filter { !paths.contains($0) || $0 == "applications" }
        .map { $0.replacing("applications.", with: "applications[].") }
      #expect(settings.count > 60)
      #expect(Set(settings).symmetricDifference(try table().keys).sorted() == [])
    }

    // MARK: - Defaults

    /// A number with commas between thousands.
    private func grouped(_ number: some BinaryInteger) -> String {
      var text = ""
      for (index, digit) in "\(number)".reversed().enumerated() {
        if index > 0, index % 3 == 0 { text.insert(",", at: text.startIndex) }
        text.insert(digit, at: text.startIndex)
      }
      return text
    }

    private func bytes(_ count: Int) -> String {
      for (unit, shift) in [("GiB", 30), ("MiB", 20), ("KiB", 10)] where count >= 1 << shift {
        return "\(count >> shift) \(unit)"
      }
      return "\(count)"
    }

    private func time(_ duration: Duration) -> String { "\(grouped(duration.components.seconds)) s" }

    @Test func `the defaults of the page are those of the source`() throws {
      let configuration = BigPeerConfiguration(data: "d")
      let (application, http) = (configuration.applications[0], configuration.http)
      let (limits, feed, clients) = (application.limits, application.feed, http.limits)
      let login = BigPeerConfiguration.Login(url: "", webhook: "", authority: .file(""))
      var expected: [String: String] = [
        "logLevel": "`\(configuration.logLevel)`", "logFormat": "`\(configuration.logFormat)`",
        "stopTime": time(configuration.stopTime),
        "admin.controlSocket": "\(configuration.admin.hasControlSocket)", "admin.on": "true",
        "admin.listen": "`\(try #require(configuration.admin.listen))`",
        "http.proxyHeader": "`\(http.proxyHeader.rawValue)`",
        "http.on": "true", "http.listen": "`\(try #require(http.listen))`",
      ]
      for (name, value) in [
        ("name", "`\(application.name)`"), ("trustCopies", "\(application.trustsCopies)"),
        ("pullKnownCollections", "\(application.pullsKnownCollections)"),
        ("devices.listen", "`\(application.devices[0])`"),
        ("limits.sessions", grouped(limits.sessions)),
        ("limits.deviceMemory", bytes(limits.deviceMemoryBytes)),
        ("limits.allDevicesMemory", bytes(limits.allDevicesMemoryBytes)),
        ("limits.dataBytes", bytes(limits.mapBytes)),
        ("limits.refuseOversize", "\(limits.refusesOversize)"),
        ("limits.tombstoneLifetime", time(limits.tombstoneLifetime)),
        ("limits.certificateLifetime", limits.certificateLifetime.map(time) ?? "for ever"),
        ("feed.streams", grouped(feed.streams)), ("feed.heartbeat", time(feed.heartbeat)),
        ("feed.webhooks", grouped(feed.webhooks)),
        ("feed.allowPrivateAddresses", "\(feed.allowsPrivateAddresses)"),
        ("feed.deliveryTime", time(feed.deliveryTime)), ("feed.retryTime", time(feed.retryTime)),
        ("feed.longestRetryTime", time(feed.longestRetryTime)), ("feed.pauseTime", time(feed.pauseTime)),
        ("login.longestValidity", time(login.longestValidity)),
        ("login.limits.requestsByAddress", grouped(login.limits.requestsByAddress)),
        ("login.limits.requestsPerSecondByAddress", grouped(login.limits.requestsPerSecondByAddress)),
        ("login.limits.loginsByUser", grouped(login.limits.loginsByUser)),
        ("login.limits.loginsPerHourByUser", grouped(login.limits.loginsPerHourByUser)),
        ("login.limits.questions", grouped(login.limits.questions)),
        ("login.limits.auditedIssues", grouped(login.limits.auditedIssues)),
        ("login.limits.auditedRefusals", grouped(login.limits.auditedRefusals)),
      ] {
        expected["applications[].\(name)"] = value
      }
      for (name, value) in [
        ("body", bytes(clients.bodyBytes)), ("headers", bytes(clients.headerBytes)),
        ("headerCount", grouped(clients.headerCount)), ("rows", grouped(clients.rows)),
        ("answer", bytes(clients.answerBytes)), ("statementTime", time(clients.statementTime)),
        ("statementMemory", bytes(clients.statementBytes)), ("idleTime", time(clients.idleTime)),
        ("bodyTime", time(clients.bodyTime)), ("stallTime", time(clients.stallTime)),
        ("connections", grouped(clients.connections)),
        ("connectionsByAddress", grouped(clients.connectionsByAddress)),
        ("requests", grouped(clients.requests)), ("requestsByKey", grouped(clients.requestsByKey)),
        ("allBodies", bytes(clients.allBodyBytes)), ("allAnswers", bytes(clients.allAnswerBytes)),
        ("allStatementMemory", bytes(clients.allStatementBytes)),
        ("keptAnswers", grouped(clients.keptAnswers)), ("keptAnswerBytes", bytes(clients.keptAnswerBytes)),
        ("requestsPerSecondByKey", grouped(clients.requestsPerSecondByKey)),
        ("requestsPerSecondByAddress", grouped(clients.requestsPerSecondByAddress)),
      ] {
        expected["http.limits.\(name)"] = value
      }
      let table = try table()
      let words: Set = [
        "must be given", "none", "not signed", "those of the system", "made at the first start",
        "one with the id `default`", "`applications/ID` in `data`",
        "`sharedKey`; with `login` it is `intermediate`",
      ]
      // What is no value is said in words.
      #expect(table.filter { !words.contains($0.value) } == expected)
    }
  }
#endif
