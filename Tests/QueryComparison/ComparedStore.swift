import CRDTCore
import DocStore
import QueryEngine
import Synchronization
import TestKit

/// An answer that differs from that of the reference.
package struct Difference: Error, CustomStringConvertible {
  package let description: String
}

/// A store with documents, indexes and live queries, and the same documents as values beside it.
final class ComparedStore {
  static let collection = "t"
  static let partners = "u"

  var draws: QueryDraws
  var reference = ReferenceDocuments()
  var partners = ReferenceDocuments()
  let store: Store
  let engine: Engine
  let planting: Planting
  let indexes: [IndexDefinition]
  var live: [LiveComparison] = []
  var observers = ObserverIndex()
  private(set) var cases = 0
  private let directory: TemporaryDirectory
  private let commits = CommitQueue()
  private let listener: CommitListener

  init(_ draws: QueryDraws, planting: Planting) throws {
    self.draws = draws
    self.planting = planting
    directory = try TemporaryDirectory()
    var options = StoreOptions(mapBytes: 64 << 20, log: { _, _ in })
    options.statisticsMinimum = 1
    options.statisticsDelay = .seconds(3_600)
    options.collectionInterval = nil
    store = try Store.open(at: directory.file("store"), options: options)
    engine = Engine(store: store, parameters: SystemParameters(), environment: EngineEnvironment(now: { 0 }))
    listener = store.onCommit { [commits] in commits.append($0) }
    indexes = self.draws.indexes(of: Self.collection)
    try fill()
    for index in indexes { try store.createIndex(index) }
    try store.createIndex(
      IndexDefinition(
        name: "p", collection: Self.partners, fields: [IndexField([self.draws.random.pick(["a", "s"])])]))
    _ = commits.take()
    try startLive()
  }

  private func fill() throws {
    _ = try store.write { transaction in
      for _ in 0..<40 { try upsert(in: transaction) }
      // So many that passing over equal values pays.
      for number in 0..<(draws.random.oneIn(4) ? 60 : 0) {
        _ = try transaction.upsert(draws.document(), id: DocumentID("x\(number)"), into: Self.collection)
      }
      for _ in 0..<12 {
        guard let id = try? DocumentID(draws.id()) else { continue }
        let document = draws.document()
        if partners.documents.updateValue(document, forKey: id) != nil { continue }
        try transaction.upsert(document, id: id, into: Self.partners)
      }
    }
    partners = ReferenceDocuments(documents: try stored(Self.partners))
    reference = ReferenceDocuments(documents: try stored(Self.collection))
  }

  /// Writes a new document, in place of one with its id.
  private func upsert(in transaction: WriteTransaction) throws {
    guard let id = try? DocumentID(draws.id()) else { return }
    _ = try transaction.upsert(draws.document(), id: id, into: Self.collection)
  }

  /// Writes some documents anew, so that there are always enough.
  func refill() throws {
    _ = try store.write { transaction in
      for _ in 0..<(reference.documents.count < 25 ? 20 : 3) { try upsert(in: transaction) }
    }
    reference.documents = try stored(Self.collection)
  }

  /// All documents as the store has them, by a walk of its own.
  func stored(_ name: String) throws -> [DocumentID: [TextKey: Value]] {
    try store.read { try Self.stored(name, in: $0) }
  }

  static func stored(
    _ name: String, in source: borrowing some RecordSource & ~Copyable
  ) throws -> [DocumentID: [TextKey: Value]] {
    var documents: [DocumentID: [TextKey: Value]] = [:]
    guard let collection = try source.collection(name) else { return documents }
    try source.forEachRecord(in: collection, from: nil, to: nil, verify: true) { id, _, record in
      if record.isAlive { documents[try DocumentID(validating: id)] = try record.fields(collection.keys) }
      return true
    }
    return documents
  }

  func takeCommits() -> [Commit] { commits.take() }

  /// Counts a comparison, which fails where there is a fault.
  func expect(_ fault: String?, _ statement: @autoclosure () -> String) throws(Difference) {
    cases += 1
    if let fault { throw Difference(description: "\(fault)\n  of \(statement())") }
  }
}

/// Commits of a store in order, until they are taken.
private final class CommitQueue: Sendable {
  private let commits = Mutex<[Commit]>([])

  func append(_ commit: Commit) { commits.withLock { $0.append(commit) } }

  func take() -> [Commit] {
    commits.withLock { commits in
      defer { commits = [] }
      return commits
    }
  }
}
