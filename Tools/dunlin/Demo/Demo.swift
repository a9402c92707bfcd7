import CRDTCore
import Foundation
import PeerControl

/// The demo's story: three peers, and what each step does and proves.
struct Demo {
  static let interest = "origin == 'JFK' && dep_delay > 60"
  static let interestSQL = "SELECT * FROM flights WHERE origin = 'JFK' AND dep_delay > 60"
  static let small = ["crew_notes", "audit", "drafts", "gates", "turnarounds", "manuals", "markers"]

  let data: DemoData
  let report: Report
  let tablet: ChildPeer
  let phone: ChildPeer
  let cloud: ChildPeer
  var everybody: [ChildPeer] { [tablet, phone, cloud] }

  init(data: DemoData, workspace: Workspace, report: Report) async throws {
    self.data = data
    self.report = report
    show(
      """

      Dunlin: three peers, three processes, three stores on this disk.

        tablet ── cloud ── phone      over TCP; the phone knows only the cloud

        tablet and phone are small peers: devices. cloud is the big peer: a server.
        Every peer reads and writes its own store, and pulls from its neighbours
        what it subscribed to.
      """)
    cloud = try workspace.start("cloud", kind: "big")
    tablet = try workspace.start("tablet", kind: "small")
    phone = try workspace.start("phone", kind: "small")
    let scopes: [TextKey: Value] = [
      "crew_notes": .string("SmallPeersOnly"), "audit": .string("BigPeerOnly"),
      "drafts": .string("LocalPeerOnly"),
    ]
    for peer in [tablet, phone, cloud] {
      _ = try await peer.execute(
        "ALTER SYSTEM SET USER_COLLECTION_SYNC_SCOPES = :scopes", ["scopes": .map(scopes)])
    }
  }

  func run() async throws {
    try await connect()
    try await fillUp()
    try await observe()
    try await merge()
    try await scopes()
    try await transaction()
    try await sizes()
  }

  private func connect() async throws {
    for collection in SampleData.collections + Self.small {
      try await cloud.ask("subscribe", ["query": .string("SELECT * FROM \(collection)")])
    }
    for peer in [tablet, phone] {
      for collection in Self.small {
        try await peer.ask("subscribe", ["query": .string("SELECT * FROM \(collection)")])
      }
    }
    try await tablet.ask("subscribe", ["query": .string("SELECT * FROM flights")])
    try await phone.ask("subscribe", ["query": .string(Self.interestSQL)])
    try await cloud.ask("listen")
    try await tablet.ask("listen")
    let cloudPort = try await port(cloud)
    _ = try await port(tablet)
    for peer in [tablet, phone] { try await peer.ask("connect", ["port": .int(cloudPort)]) }
    try await phone.ask("start")
  }

  func port(_ peer: ChildPeer) async throws -> Int64 {
    guard case .array(let ports)? = try await peer.ask("start")["ports"], case .int(let port)? = ports.first
    else {
      throw ToolError("\(peer.name) listens on no port")
    }
    return port
  }

  /// Collects what the connections have moved; errors are no news here, since the peers may be gone.
  func collectTraffic() async {
    for peer in everybody {
      guard let traffic = try? await peer.ask("traffic") else { continue }
      report.add(
        Report.Traffic(
          plainSent: traffic.number("plainSent"), sent: traffic.number("sent"),
          plainReceived: traffic.number("plainReceived"), received: traffic.number("received"),
          documents: traffic.number("documentsReceived")),
        for: peer.name)
    }
  }

  // MARK: - Asking peers

  /// Waits until `condition` holds; `false` when it does not within a minute.
  func eventually(
    within limit: Duration = .seconds(60), _ condition: () async throws -> Bool
  ) async throws -> Bool {
    let deadline = ContinuousClock.now + limit
    while ContinuousClock.now < deadline {
      if try await condition() { return true }
      try await Task.sleep(for: .milliseconds(15))
    }
    return try await condition()
  }

  func count(_ peer: ChildPeer, _ collection: String) async throws -> Int {
    try await peer.ask("counts").fields("collections").number(collection)
  }

  func row(_ peer: ChildPeer, _ collection: String, _ id: Value) async throws -> [TextKey: Value]? {
    try await peer.execute("SELECT * FROM \(collection) WHERE _id = :id", ["id": id]).first
  }

  func digest(_ peer: ChildPeer, _ collection: String, _ query: String) async throws -> String {
    let answer = try await peer.ask("digest", ["collection": .string(collection), "query": .string(query)])
    return "\(answer.number("documents").groupedDigits) documents, \(answer.text("digest"))"
  }

  func insert(_ peer: ChildPeer, _ collection: String, _ fields: [TextKey: Value]) async throws {
    _ = try await peer.execute("INSERT INTO \(collection) DOCUMENTS (:d)", ["d": .map(fields)])
  }

  func title(_ number: Int, _ text: String) {
    show("\n" + Paragraph.text("\(number). \(text)", indent: 2, hanging: 3))
  }

  func say(_ text: String) { show(Paragraph.text(text, indent: 5)) }
}
