import DunlinKit
import DunlinTesting
import Facade
import TestKit
import Testing

/// The warning of a peer that syncs, and can meet nobody.
@Suite(.timeLimit(.minutes(15))) struct IsolationTests {
  private static let warning = "this peer cannot meet another one"

  /// A peer that warns after a time.
  private func database(
    _ log: RecordedLog, _ delay: Duration = .milliseconds(1)
  ) throws -> TestDatabase {
    var configuration = DunlinConfiguration(logger: log.logger)
    configuration.isolationDelay = delay
    return try TestDatabase(configuration: configuration)
  }

  @Test func `sync that neither listens nor connects says so once`() async throws {
    let log = RecordedLog()
    let database = try database(log)
    let dunlin = database.dunlin
    try dunlin.startSync()
    while log.lines(with: Self.warning).isEmpty { await pause() }
    dunlin.stopSync()
    try dunlin.startSync()
    for _ in 0..<50 { await pause() }
    let lines = log.lines(with: Self.warning)
    #expect(lines.count == 1)
    #expect(lines.first?.contains("Call listen, connect or updateTransportConfig") == true)
  }

  /// Gives a peer a way to meet others.
  private static let ways: [(name: String, open: @Sendable (Dunlin) throws -> Void)] = [
    ("listens", { try $0.listen() }),
    ("listens for WebSockets", { try $0.listenForWebSockets() }),
    ("connects", { $0.connect(host: "127.0.0.1", port: 9) }),
    (
      "connects by its configuration",
      { dunlin in
        try dunlin.updateTransportConfig { $0.connect.webSocketURLs = ["ws://127.0.0.1:9/"] }
      }
    ),
  ]

  @Test(arguments: ways.indices, [false, true])
  func `a peer that has a way to meet others is quiet`(way: Int, comesLater: Bool) async throws {
    let (log, otherLog) = (RecordedLog(), RecordedLog())
    // Long enough for a way that comes after the start.
    let delay = Duration.milliseconds(comesLater ? 2_000 : 1)
    let (database, other) = (try database(log, delay), try database(otherLog, delay))
    let dunlin = database.dunlin
    if comesLater { try dunlin.startSync() }
    try Self.ways[way].open(dunlin)
    try dunlin.startSync()
    try other.dunlin.startSync()
    // The one that can meet nobody shows that the time is over.
    while otherLog.lines(with: Self.warning).isEmpty { await pause() }
    let lines = log.lines(with: Self.warning)
    #expect(lines.isEmpty, "it \(Self.ways[way].name)")
  }
}
