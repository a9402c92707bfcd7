import DunlinKit
import Foundation
import TestKit
import Testing

/// The code of `Documentation/Configuration.md`, and its tables beside the types.
@Suite(.timeLimit(.minutes(15))) struct ConfigurationPageTests {
  private let directory: String
  private let files: TemporaryDirectory

  init() throws {
    files = try TemporaryDirectory()
    directory = files.file("data")
  }

  #if TLS
    @Test func `a shared key in code`() throws {
      // Once for the application. The text is secret: bring it to the devices in a safe way.
      let text = DunlinSharedKey().text

      // On each device:
      let tablet = try Dunlin(
        path: directory + "/tablet", identity: .sharedKey(appID: "orders", key: DunlinSharedKey(text)))

      try tablet.startSync()
      #expect(tablet.isSyncActive)
      try tablet.close()
    }

    @Test func `certificates in code`() async throws {
      // At the office, on a machine that is no peer. `office.text` is secret.
      // `DunlinAuthority(text:)` reads it again.
      let (start, day) = (Date.now.addingTimeInterval(-3_600), 86_400.0)
      let decade = start..<start.addingTimeInterval(3_650 * day)
      let office = try DunlinAuthority(appID: "orders", validity: decade)
      let authority = try office.certificate

      // On the device: the public key, which goes to the office. The private key never leaves the device.
      let deviceKey = try DunlinDevice.publicKey(path: directory + "/phone")

      // At the office: a certificate for that key, which is no secret.
      let certificate = try office.issue(
        deviceKey: deviceKey, user: "ann", validity: start..<start.addingTimeInterval(30 * day))

      // On the device: authority and certificate are texts, from a file, a resource or a server of your own.
      let phone = try Dunlin(
        path: directory + "/phone",
        identity: .certificate(appID: "orders", authority: authority, certificate: certificate))

      try phone.startSync()
      let renewed = try office.issue(
        deviceKey: deviceKey, user: "ann", validity: start..<start.addingTimeInterval(60 * day))
      print("valid until", try DunlinCertificate(text: renewed).validUntil)
      try await phone.updateIdentity(
        .certificate(appID: "orders", authority: authority, certificate: renewed))

      #expect(phone.isSyncActive)
      try phone.close()
      let wrong = try Dunlin(
        path: directory + "/phone",
        identity: .certificate(appID: "orders", authority: authority, certificate: "no certificate"))
      let error = #expect(throws: DunlinError.self) { try wrong.startSync() }
      #expect(error?.code == .identity)
      try wrong.close()
    }
  #endif

  @Test func `configurations in code`() throws {
    var configuration = DunlinConfiguration(peerName: "galley tablet", mapBytes: 8 << 30)
    configuration.keepsSystemParameters = true
    configuration.snapshotDeadline = .seconds(300)
    let galley = try Dunlin(
      path: directory + "/galley", identity: .unsafeDevelopment(appID: "orders"),
      configuration: configuration)

    try galley.updateTransportConfig { config in
      config.listen.tcp.isEnabled = true
      config.connect.tcpServers = ["127.0.0.1:4040"]
      config.connect.retryInterval = .seconds(10)
    }

    #expect(galley.transportConfig.connect.retryInterval == .seconds(10))
    try galley.close()
    var wrong = DunlinConfiguration()
    wrong.mapBytes = 0
    let error = #expect(throws: DunlinError.self) {
      try Dunlin(
        path: directory + "/wrong", identity: .unsafeDevelopment(appID: "orders"), configuration: wrong)
    }
    #expect(error?.code == .argument)
  }

  // MARK: - Tables

  /// The defaults that the table below a heading gives, by setting.
  private func table(below heading: String) throws -> [String: String] {
    let page = try #require(Page(path: "Documentation/Configuration.md"))
    let section = page.lines.drop { $0 != "## \(heading)" }.dropFirst().prefix { !$0.hasPrefix("## ") }
    var defaults: [String: String] = [:]
    for line in section where line.hasPrefix("| `") {
      let cells = line.split(separator: " | ")
      try #require(cells.count == 3, "\(line)")
      for name in cells[0].matches(of: /`([A-Za-z.]+)`/) {
        defaults[String(name.output.1)] = String(cells[1])
      }
    }
    return defaults
  }

  /// A value as the tables write it.
  private func text(of value: Any) -> String {
    let mirror = Mirror(reflecting: value)
    if mirror.displayStyle == .optional, mirror.children.isEmpty { return "`nil`" }
    switch value {
    case let value as Bool: return "`\(value)`"
    case let value as Int where value >= 1 << 30: return "\(value >> 30) GiB"
    case let value as Int where value >= 1 << 20: return "\(value >> 20) MiB"
    case let value as Duration: return "\(value.components.seconds) s"
    case let value as String: return "`\"\(value)\"`"
    case let value as Set<String>: return "`\(value.sorted())`"
    case let value as DunlinPeerKind: return value == .small ? "`.small`" : "`.big`"
    default: return "\(value)"
    }
  }

  @Test func `the page has each setting of a configuration, with its default`() throws {
    let source = try String(
      contentsOf: Page.repository.appending(path: "Modules/Facade/DunlinConfiguration.swift"), encoding: .utf8
    )
    let names = Set(source.matches(of: /\n {2}public var (\w+)/).map { String($0.output.1) })
    let table = try table(below: "DunlinConfiguration")
    #expect(names.count > 15)
    #expect(names.symmetricDifference(table.keys) == [])
    var defaults: [String: String] = [:]
    for child in Mirror(reflecting: DunlinConfiguration()).children {
      if let name = child.label, names.contains(name) { defaults[name] = text(of: child.value) }
    }
    #expect(defaults == table)
  }

  @Test func `the page has each setting of a transport configuration, with its default`() throws {
    var defaults: [String: String] = [:]
    func collect(_ value: Any, _ path: String) {
      for child in Mirror(reflecting: value).children {
        guard let label = child.label else { continue }
        let name = path.isEmpty ? label : "\(path).\(label)"
        if String(reflecting: type(of: child.value)).contains("DunlinTransportConfig.") {
          collect(child.value, name)
        } else {
          defaults[name] = text(of: child.value)
        }
      }
    }
    collect(DunlinTransportConfig(), "")
    #expect(defaults.count > 12)
    #expect(try table(below: "DunlinTransportConfig") == defaults)
  }
}
