import BenchmarkSupport
import CRDTCore
import DocStore
import Foundation

/// Dunlin's store: JSON texts become records that merge.
final class DunlinContender: Contender {
  private let store: Store
  private static let collection = "documents"

  init(directory: String, indexes: [IndexPlan]) throws {
    store = try Store.open(at: directory)
    let known = try store.read { transaction in
      try transaction.collection(Self.collection).map { try transaction.indexes(of: $0) } ?? []
    }.map(\.definition.name)
    for index in indexes where !known.contains(index.name) {
      let fields = index.fields.map { IndexField([TextKey($0)]) }
      try store.createIndex(IndexDefinition(name: index.name, collection: Self.collection, fields: fields))
    }
  }

  func prepare(_ documents: [CorpusDocument]) -> [[UInt8]] { documents.map(\.text) }

  func key(_ id: String) throws -> DocumentID { try DocumentID(id) }

  func insert(_ batch: [[UInt8]]) throws {
    try store.write { transaction in
      for text in batch { _ = try transaction.upsert(json: text.span.bytes, into: Self.collection) }
    }
  }

  func commitEach(_ documents: [CorpusDocument], tasks: Int) async throws {
    let texts = documents.map(\.text)
    let store = store
    if tasks == 1 {
      // As from an application's main thread: the store does not know that it may block the thread of a task.
      return try await OneThread.run {
        for text in texts {
          try store.write { _ = try $0.upsert(json: text.span.bytes, into: Self.collection) }
        }
      }
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<tasks {
        group.addTask {
          for index in stride(from: task, to: texts.count, by: tasks) {
            let text = texts[index]
            try await store.write { _ = try $0.upsert(json: text.span.bytes, into: Self.collection) }
          }
        }
      }
      try await group.waitForAll()
    }
  }

  func read(_ keys: [DocumentID], oneSnapshot: Bool) throws -> Int {
    var bytes = 0
    func fetch(_ key: DocumentID, _ collection: Collection, _ transaction: borrowing ReadTransaction) throws {
      // The record is verified and stands in place: nothing of it is decoded before somebody asks.
      let found = try transaction.withRecord(collection, key) { record, _ in record.byteCount }
      guard let found else { throw BenchmarkError("a document is missing") }
      bytes += found
    }
    if oneSnapshot {
      try store.read { transaction in
        let collection = try Self.documents(transaction)
        for key in keys { try fetch(key, collection, transaction) }
      }
    } else {
      for key in keys {
        try store.read { try fetch(key, try Self.documents($0), $0) }
      }
    }
    return bytes
  }

  private static func documents(_ transaction: borrowing ReadTransaction) throws -> Collection {
    guard let found = try transaction.collection(collection) else { throw BenchmarkError("no documents") }
    return found
  }

  func update(_ keys: [DocumentID], field: String, to values: [Int64]) throws {
    try store.write { transaction in
      for (key, value) in zip(keys, values) {
        try transaction.update(key, in: Self.collection, [.set([TextKey(field)], .int(value))])
      }
    }
  }

  func count() throws -> Int {
    try store.read { try $0.collections().first { $0.name == Self.collection }?.documentCount ?? 0 }
  }

  func compact() throws { try store.compact() }

  func close() { store.close() }
}

/// A thread of its own, with the stack of a main thread.
private enum OneThread {
  static func run(_ body: @escaping @Sendable () throws -> Void) async throws {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      let thread = Thread { continuation.resume(with: Result(catching: body)) }
      thread.stackSize = 8 << 20
      thread.start()
    }
  }
}
