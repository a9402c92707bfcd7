import DunlinKit
import Facade
import Logging
import Synchronization
import TestKit
import Testing

/// One peer on a directory of its own, whose log lines and failures are kept.
struct Peer {
  let dunlin: Dunlin
  let log: RecordedLog
  let directory: TemporaryDirectory

  init(
    _ name: String = "tablet", kind: DunlinPeerKind = .small, appID: String = "tests",
    answersRemoteQueries: Bool = true, snapshotDeadline: Duration = .seconds(60),
    controlIdleTime: Duration = .seconds(600), handlerWarning: Duration = .seconds(10)
  ) throws {
    directory = try TemporaryDirectory()
    let log = RecordedLog()
    self.log = log
    var configuration = DunlinConfiguration(
      peerKind: kind, peerName: name, logger: log.logger, failureHandler: { log.failed($0) },
      answersRemoteQueries: answersRemoteQueries)
    // Long enough for a machine that has much else to do.
    configuration.transactionDeadline = .seconds(600)
    configuration.snapshotDeadline = snapshotDeadline
    configuration.controlIdleTime = controlIdleTime
    configuration.handlerWarning = handlerWarning
    dunlin = try Dunlin(
      path: directory.file("db"), identity: .unsafeDevelopment(appID: appID), configuration: configuration)
  }

  var store: DunlinStore { dunlin.store }

  /// Listens on a free port and lets `other` connect to it, with sync started at both.
  func connect(to other: Peer) throws {
    try other.dunlin.listen()
    try other.dunlin.startSync()
    let port = try #require(other.dunlin.listeningPorts.first)
    dunlin.connect(host: "127.0.0.1", port: port)
    try dunlin.startSync()
  }

  /// Waits until the documents of a collection satisfy `condition`.
  func wait(
    for collection: String, until condition: ([DunlinQueryResultItem]) -> Bool
  ) async throws {
    for await diff in try store.changes(of: "SELECT * FROM \(collection)") where condition(diff.items) {
      return
    }
  }
}

/// A logger's lines and a database's reported failures.
final class RecordedLog: Sendable {
  private let lines = Mutex<[(level: Logger.Level, text: String)]>([])
  private let failures = Mutex<[DunlinError]>([])

  var logger: Logger { Logger(label: "test") { _ in Handler(log: self) } }

  var codes: [DunlinError.Code] { failures.withLock { $0.map(\.code) } }

  func failed(_ error: DunlinError) { failures.withLock { $0.append(error) } }

  /// The lines of a level or worse that contain `text`.
  func lines(with text: String, from level: Logger.Level = .warning) -> [String] {
    lines.withLock { $0.filter { $0.level >= level && $0.text.contains(text) }.map(\.text) }
  }

  private struct Handler: LogHandler {
    let log: RecordedLog
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .debug

    init(log: RecordedLog) { self.log = log }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { log.lines.withLock { $0.append((event.level, "\(event.message)")) } }
  }
}
