import BenchmarkSupport
import CRDTCore
import DocStore
import DunlinKit
import Foundation
import QueryEngine

/// A fixed piece of work on fixed input.
struct Workload: Sendable {
  let name: String
  /// What an instruction count is told for one of, and how many of it there are.
  let unit: String
  let units: Int
  /// Does the work so many times; what comes before the first time is prepared once.
  let run: @Sendable (_ times: Int, _ directory: URL) throws -> Void

  func run(_ times: Int, in directory: URL) throws { try run(times, directory) }

  private static let count = 2_000
  private static let collection = "orders"

  static let all = [
    json, make, merge, insert, read, reads, fetch, point, update, commit, scan, index, ordered, sync, live,
  ]

  private static func lines() -> [[UInt8]] {
    var orders = Orders()
    return (0..<count).map { _ in Array(orders.next().dropLast()) }
  }

  private static func values() throws -> [[TextKey: Value]] {
    try lines().map { line in
      guard case .map(let fields) = try JSON.parse(line) else {
        throw BenchmarkError("an order is no document")
      }
      return fields
    }
  }

  private static func filled(_ directory: URL, indexes: [String] = []) throws -> Store {
    let store = try Store.open(at: directory.appending(path: "filled").path)
    let lines = lines()
    try store.write { transaction in
      for line in lines { _ = try transaction.upsert(json: line.span.bytes, into: collection) }
    }
    for field in indexes {
      try store.createIndex(
        IndexDefinition(name: field, collection: collection, fields: [IndexField([TextKey(field)])]))
    }
    return store
  }

  /// Orders are read from JSON.
  private static let json = Workload(name: "json", unit: "document", units: count) { times, _ in
    let lines = lines()
    for _ in 0..<times { for line in lines { _ = try JSON.parse(line) } }
  }

  /// Documents with metadata are made of their values.
  private static let make = Workload(name: "make", unit: "document", units: count) { times, _ in
    let values = try values()
    for _ in 0..<times {
      var replica = Replica(site: SiteID(high: 1, low: 1))
      for fields in values {
        var document = ReplicatedDocument()
        try replica.upsert(fields, into: &document, now: 1_760_000_000_000)
      }
    }
  }

  /// Deltas of one field are merged.
  private static let merge = Workload(name: "merge", unit: "document", units: count) { times, _ in
    var (phone, laptop) = (Replica(site: SiteID(high: 1, low: 1)), Replica(site: SiteID(high: 1, low: 2)))
    var pairs: [(document: ReplicatedDocument, delta: [UInt8])] = []
    for fields in try values() {
      var document = ReplicatedDocument()
      try phone.upsert(fields, into: &document, now: 1_760_000_000_000)
      var copy = ReplicatedDocument()
      try laptop.merge(try phone.encoding(of: document), into: &copy, now: 1_760_000_000_000)
      let before = document
      try phone.update([.set(["amount"], .int(7_777))], of: &document, now: 1_760_000_001_000)
      pairs.append((copy, try phone.delta(of: document, after: before)))
    }
    for _ in 0..<times {
      for pair in pairs {
        var document = pair.document
        try laptop.merge(pair.delta, into: &document, now: 1_760_000_002_000)
      }
    }
  }

  /// Documents come into an empty store, 100 a transaction.
  private static let insert = Workload(name: "insert", unit: "document", units: count) { times, directory in
    let lines = lines()
    for time in 0..<times {
      let store = try Store.open(at: directory.appending(path: "insert-\(time)").path)
      for start in stride(from: 0, to: count, by: 100) {
        try store.write { transaction in
          for line in lines[start..<start + 100] {
            _ = try transaction.upsert(json: line.span.bytes, into: collection)
          }
        }
      }
      store.close()
    }
  }

  /// Documents are found by their ids, each in a snapshot of its own.
  private static let read = Workload(name: "read", unit: "document", units: count) { times, directory in
    let store = try filled(directory)
    defer { store.close() }
    let ids = try ids(store)
    for _ in 0..<times {
      for id in ids {
        try store.read { transaction in
          guard let found = try transaction.collection(collection) else { return }
          _ = try transaction.withRecord(found, id) { record, _ in record.byteCount }
        }
      }
    }
  }

  /// Documents are found by their ids, all in one snapshot.
  private static let reads = Workload(name: "reads", unit: "document", units: count) { times, directory in
    let store = try filled(directory)
    defer { store.close() }
    let ids = try ids(store)
    for _ in 0..<times {
      try store.read { transaction in
        guard let found = try transaction.collection(collection) else { return }
        for id in ids { _ = try transaction.withRecord(found, id) { record, _ in record.byteCount } }
      }
    }
  }

  /// An application gets documents by their ids, and one field of each.
  private static let fetch = Workload(name: "fetch", unit: "document", units: count) { times, directory in
    try filled(directory).close()
    let dunlin = try Dunlin(
      path: directory.appending(path: "filled").path, identity: .unsafeDevelopment(appID: "instructions"))
    defer { try? dunlin.close() }
    let orders = dunlin.store[collection]
    let ids = try orders.findAll().exec().map(\.id)
    for _ in 0..<times {
      for id in ids {
        guard try orders.findByID(id).exec()?["amount"].value != nil else {
          throw BenchmarkError("a document has no amount")
        }
      }
    }
  }

  /// A statement finds a document by its id.
  private static let point = Workload(name: "point", unit: "document", units: count) { times, directory in
    let store = try filled(directory)
    defer { store.close() }
    let ids = try ids(store)
    let engine = engine(store)
    let prepared = try engine.prepare("SELECT * FROM orders WHERE _id = :id")
    for _ in 0..<times {
      for id in ids { _ = try engine.execute(prepared, arguments: ["id": id.value]).rows.count }
    }
  }

  /// One field of a document is set, each in a transaction of its own.
  private static let commit = Workload(name: "commit", unit: "commit", units: count) { times, directory in
    let store = try filled(directory)
    defer { store.close() }
    let ids = try ids(store)
    for time in 0..<times {
      for id in ids {
        try store.write { transaction in
          try transaction.update(id, in: collection, [.set(["amount"], .int(Int64(10_000 + time)))])
        }
      }
    }
  }

  /// One field of documents is set, 100 a transaction.
  private static let update = Workload(name: "update", unit: "document", units: count) { times, directory in
    let store = try filled(directory)
    defer { store.close() }
    let ids = try ids(store)
    for time in 0..<times {
      for start in stride(from: 0, to: count, by: 100) {
        try store.write { transaction in
          for id in ids[start..<start + 100] {
            try transaction.update(id, in: collection, [.set(["amount"], .int(Int64(10_000 + time)))])
          }
        }
      }
    }
  }

  /// A statement looks at all documents.
  private static let scan = Workload(name: "scan", unit: "document", units: count) { times, directory in
    let store = try filled(directory)
    defer { store.close() }
    try execute(
      "SELECT COUNT(*) AS n FROM orders WHERE status = 'paid' AND amount > 500", times, at: store)
  }

  /// A statement finds documents by two fields of an index.
  private static let index = Workload(name: "index", unit: "execution", units: 20) { times, directory in
    let store = try filled(directory)
    defer { store.close() }
    let fields = ["status", "amount"].map { IndexField([TextKey($0)]) }
    try store.createIndex(IndexDefinition(name: "both", collection: collection, fields: fields))
    let engine = engine(store)
    let prepared = try engine.prepare("SELECT * FROM orders WHERE status = 'paid' AND amount > 500")
    for _ in 0..<times * 20 {
      guard try engine.execute(prepared).rows.count > 0 else { throw BenchmarkError("no rows") }
    }
  }

  /// A statement reads an index in its order, and hands rows out.
  private static let ordered = Workload(name: "ordered", unit: "row", units: 100) { times, directory in
    let store = try filled(directory, indexes: ["amount"])
    defer { store.close() }
    try execute("SELECT * FROM orders WHERE amount > 300 ORDER BY amount LIMIT 100", times, at: store)
  }

  /// A new peer pulls all documents over a session.
  private static let sync = Workload(name: "sync", unit: "document", units: count) { times, directory in
    let store = try filled(directory)
    defer { store.close() }
    for time in 0..<times {
      let receiver = try Store.open(at: directory.appending(path: "receiver-\(time)").path)
      defer { receiver.close() }
      try SessionPair(store, receiver).sync("SELECT * FROM orders")
      let there = try receiver.read { try $0.collections().first { $0.name == collection }?.documentCount }
      guard there == count else { throw BenchmarkError("\(there ?? 0) of \(count) documents came") }
    }
  }

  /// A peer in sync gets a change of one field, from the commit to the record of the other peer.
  private static let live = Workload(name: "live", unit: "change", units: 500) { times, directory in
    let store = try filled(directory)
    defer { store.close() }
    let ids = try ids(store).prefix(500)
    let receiver = try Store.open(at: directory.appending(path: "receiver").path)
    defer { receiver.close() }
    let pair = SessionPair(store, receiver)
    try pair.sync("SELECT * FROM orders")
    let before = try receiver.read { $0.sequence }
    for time in 0..<times {
      for id in ids {
        try store.write { transaction in
          try transaction.update(id, in: collection, [.set(["amount"], .int(Int64(10_000 + time)))])
        }
        try pair.pass(through: store.read { $0.sequence })
      }
    }
    let applied = try receiver.read { $0.sequence } - before
    guard applied == times * ids.count else { throw BenchmarkError("\(applied) changes came") }
  }

  private static func execute(_ statement: String, _ times: Int, at store: Store) throws {
    let engine = engine(store)
    let prepared = try engine.prepare(statement)
    for _ in 0..<times {
      let rows = try engine.execute(prepared, arguments: [:]).rows
      for row in rows { _ = try row.values() }
    }
  }

  private static func engine(_ store: Store) -> Engine {
    Engine(
      store: store, parameters: SystemParameters(), environment: EngineEnvironment(now: { 1_760_000_000_000 })
    )
  }

  private static func ids(_ store: Store) throws -> [DocumentID] {
    var ids: [DocumentID] = []
    try store.read { transaction in
      guard let found = try transaction.collection(collection) else { return }
      try transaction.forEachRecord(in: found) { id, _, _ in
        ids.append(try DocumentID(validating: id))
        return true
      }
    }
    return ids
  }
}
