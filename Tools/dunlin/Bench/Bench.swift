import CRDTCore
import DocStore
import Facade
import Foundation
import Logging
import SyncProtocol
import Synchronization

/// Two peers of this process, and what is measured with them.
struct Bench {
  /// Sizes on both sides of the two limits, and some below.
  private static let sizes = [10_000, 100_000, 249_000, 251_000, 1_000_000, 4_990_000, 5_010_000]
  private static let changeCount = 100
  private static let batchCount = 500
  /// How long the other peer may take for anything.
  private static let patience = Duration.seconds(120)

  private let documentCount: Int
  private let log = RecordedWarnings()
  private let here: Dunlin
  private let there: Dunlin

  /// - Parameters:
  ///   - folder: Where the stores are made.
  ///   - documentCount: How many documents are replicated.
  /// - Throws: What opening a database reports.
  init(folder: String, documentCount: Int) throws {
    self.documentCount = documentCount
    func peer(_ name: String, _ kind: DunlinPeerKind, _ log: RecordedWarnings) throws -> Dunlin {
      try Dunlin(
        path: "\(folder)/\(name)", identity: .unsafeDevelopment(appID: "dunlin-bench"),
        configuration: DunlinConfiguration(peerKind: kind, peerName: name, logger: log.logger))
    }
    here = try peer("here", .small, log)
    there = try peer("there", .big, RecordedWarnings())
  }

  /// Measures; `tell` is told each step.
  func run(_ tell: (String) -> Void) async throws -> BenchResult {
    defer { for peer in [here, there] { try? peer.close() } }
    var result = BenchResult(documents: documentCount)
    tell("writing \(documentCount.counting("document"))")
    (result.writing, result.jsonBytes) = try await write()
    let subscriptions = try ["orders", "sizes"].map {
      try there.sync.registerSubscription(query: "SELECT * FROM \($0)")
    }
    defer { for subscription in subscriptions { subscription.cancel() } }
    let arrivals = Arrivals(at: there)
    defer { arrivals.end() }
    tell("replicating them")
    let start = ContinuousClock.now
    try there.listen()
    try there.startSync()
    here.connect(host: "127.0.0.1", port: there.listeningPorts.first ?? 0)
    try here.startSync()
    try await arrivals.wait(Self.patience) { try $0.count(of: "orders") >= documentCount }
    result.replication = ContinuousClock.now - start
    tell("changing \(Self.changeCount.counting("document")), one by one")
    result.latencies = try await change(arrivals)
    tell("writing documents of \(Self.sizes.count) sizes")
    for bytes in Self.sizes { result.sizes.append(try await measure(bytes, arrivals)) }
    return result
  }

  private func write() async throws -> (Duration, Int) {
    var jsonBytes = 0
    var time = Duration.zero
    for first in stride(from: 0, to: documentCount, by: Self.batchCount) {
      let documents = (first..<min(first + Self.batchCount, documentCount)).map(Self.order)
      jsonBytes += documents.reduce(0) { $0 + JSON.text(of: .map($1)).utf8.count }
      let start = ContinuousClock.now
      try await here.parts.store.write { transaction in
        for document in documents { try transaction.upsert(document, into: "orders") }
      }
      time += ContinuousClock.now - start
    }
    return (time, jsonBytes)
  }

  private static func order(_ number: Int) -> [TextKey: Value] {
    [
      "_id": .int(Int64(number)), "state": .string("open"), "seat": .string("\(number % 60 + 1)C"),
      "price": .double(Double(number % 900) / 20), "note": .string(Prose.text(300, seed: UInt64(number))),
    ]
  }

  private func change(_ arrivals: Arrivals) async throws -> [Duration] {
    var times: [Duration] = []
    for number in 0..<min(Self.changeCount, documentCount) {
      let start = ContinuousClock.now
      let state = "served \(number)"
      try await here.parts.store.write { transaction in
        try transaction.upsert(["_id": .int(Int64(number)), "state": .string(state)], into: "orders")
      }
      try await arrivals.wait(Self.patience) {
        try $0.field("state", of: .int(Int64(number)), in: "orders") == .string(state)
      }
      times.append(ContinuousClock.now - start)
    }
    return times.sorted()
  }

  /// Writes a document of a size, and then a marker document.
  ///
  /// When the marker arrives, the first document is there or never comes.
  private func measure(_ bytes: Int, _ arrivals: Arrivals) async throws -> BenchResult.Size {
    let id = Value.string("of \(bytes)")
    let text = Prose.text(bytes - 100, seed: UInt64(bytes))
    let isSmall = bytes <= Limits.hardDocumentBytes
    let warnings = log.count
    let start = ContinuousClock.now
    try await here.parts.store.write { transaction in
      try transaction.upsert(["_id": id, "text": .string(text)], into: "sizes")
    }
    if isSmall {
      try await arrivals.wait(Self.patience) { try $0.field("text", of: id, in: "sizes") != nil }
    }
    let time = ContinuousClock.now - start
    let marker = Value.string("behind \(bytes)")
    try await here.parts.store.write { try $0.upsert(["_id": marker, "n": .int(1)], into: "sizes") }
    try await arrivals.wait(Self.patience) { try $0.field("n", of: marker, in: "sizes") != nil }
    let isThere = try there.parts.store.field("text", of: id, in: "sizes") != nil
    return BenchResult.Size(bytes: bytes, time: isThere ? time : nil, isWarned: log.count > warnings)
  }
}

/// Waits for what a peer's commits bring.
private final class Arrivals {
  private let store: Store
  private let listener: CommitListener
  private let ticker: Task<Void, Never>
  private var commits: AsyncStream<Void>.Iterator

  init(at peer: Dunlin) {
    let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    store = peer.parts.store
    listener = store.onCommit { _ in continuation.yield() }
    // So that what is waited for in vain is noticed.
    ticker = Task {
      while !Task.isCancelled {
        try? await Task.sleep(for: .milliseconds(200))
        continuation.yield()
      }
    }
    commits = stream.makeAsyncIterator()
  }

  func end() { ticker.cancel() }

  /// Waits until a condition holds of the store.
  ///
  /// - Throws: A `ToolError` when it does not in time.
  func wait(_ most: Duration, until condition: (Store) throws -> Bool) async throws {
    let deadline = ContinuousClock.now + most
    while try !condition(store) {
      guard ContinuousClock.now < deadline else {
        throw ToolError("the other peer did not receive what was written within \(most.text)")
      }
      _ = await commits.next(isolation: #isolation)
    }
  }
}

extension Store {
  fileprivate func count(of name: String) throws -> Int {
    try read { try $0.collections().first { $0.name.isSame(as: name) }.map { Int($0.documentCount) } ?? 0 }
  }

  fileprivate func field(_ key: TextKey, of id: Value, in name: String) throws -> Value? {
    try read { transaction in
      guard let collection = try transaction.collection(name),
        let record = try transaction.record(collection, DocumentID(id))
      else { return nil }
      return try record.withView { try $0.fields(collection.keys)[key] }
    }
  }
}

/// Counts the warnings that peers log.
private final class RecordedWarnings: Sendable {
  private let warnings = Mutex(0)

  var count: Int { warnings.withLock { $0 } }

  var logger: Logger { Logger(label: "dunlin bench") { _ in Handler(warnings: self) } }

  private struct Handler: LogHandler {
    let warnings: RecordedWarnings
    var logLevel = Logger.Level.warning
    var metadata: Logger.Metadata = [:]

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      if event.level == .warning, "\(event.message)".contains("sizes") {
        warnings.warnings.withLock { $0 += 1 }
      }
    }
  }
}
