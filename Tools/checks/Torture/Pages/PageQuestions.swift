import CRDTCore
import DocStore
import Glibc
import SyncProtocol
import TestKit

/// Asks a store of which one page is damaged for all that is known to be in it.
struct PageQuestions {
  fileprivate let path: String
  private var random: SeededGenerator
  /// Answers that were right, and those that were an error.
  private(set) var right = 0
  private(set) var refused = 0
  private(set) var wrong: [String] = []
  private(set) var isVerified = false

  init(_ path: String, seed: UInt64) {
    self.path = path
    random = SeededGenerator(seed: seed)
  }

  mutating func run(_ change: PageChange, trustsPages: Bool) throws {
    var options = StoreOptions.silent
    options.trustsPages = trustsPages
    options.scrubs = false
    let store: Store
    do {
      store = try Store.open(at: path, options: options)
    } catch {
      guard error.code == .corrupt else { throw error }
      refused += 1
      return
    }
    if change.isOpen { try change.apply(to: path + "/data.mdb") }
    try ask(store)
    isVerified = try !store.verify().isIntact
    store.close()
  }

  private mutating func ask(_ store: Store) throws {
    let count = LargeReference.count
    // Each of them is the first to meet some of the pages.
    if random.int(below: 3) == 0 { peer(store) }
    for _ in 0..<20 { document(random.int(below: count), store) }
    for _ in 0..<4 { update(random.int(below: count), store) }
    rows(store)
    scan(store)
    export(store)
    build(store)
    evict(random.int(below: count), store)
    absent(store)
    log(store)
    peer(store)
    while try !store.scrub() {}
  }

  fileprivate mutating func judge(_ what: String, _ body: () throws -> String?) {
    do {
      if let found = try body() { wrong.append("\(what): \(found)") } else { right += 1 }
    } catch let error as StoreError where error.code == .corrupt {
      refused += 1
    } catch {
      wrong.append("\(what): \(error)")
    }
  }

  private mutating func document(_ n: Int, _ store: Store) {
    judge("document \(n)") {
      let found = try store.read { tx -> Int64? in
        guard let flights = try tx.collection("flights") else { return nil }
        return try tx.withRecord(flights, LargeReference.id(n)) { record, _ in try number(record, flights) }
          ?? nil
      }
      return found == Int64(n) ? nil : found.map { "is \($0)" } ?? "is not there"
    }
  }

  private mutating func update(_ n: Int, _ store: Store) {
    judge("update of \(n)") {
      let (isDone, _) = try store.write { tx in
        try tx.update(LargeReference.id(n), in: "flights", [.set(["seen"], .int(Int64(n)))])
      }
      return isDone ? nil : "found nothing to update"
    }
  }

  private mutating func evict(_ n: Int, _ store: Store) {
    judge("eviction of \(n)") {
      let (isDone, _) = try store.write { tx in try tx.evict(LargeReference.id(n), in: "flights") }
      return isDone ? nil : "found nothing to evict"
    }
  }

  private mutating func absent(_ store: Store) {
    judge("a new document") {
      try store.write { tx in
        _ = try tx.upsert(["n": .int(-1)], id: DocumentID(.string("new one")), into: "flights")
      }
      return nil
    }
  }

  /// An index of which damage was met is no longer offered.
  private static let noIndex = StoreError(.corrupt, "There is no index to ask", operation: "read")

  /// A covering read.
  private mutating func rows(_ store: Store) {
    judge("rows") {
      try store.read { tx in
        guard let flights = try tx.collection("flights") else { return "no collection" }
        guard let index = try tx.readyIndexes(of: flights).first else { throw Self.noIndex }
        let rows = try tx.countRows(in: index, limit: .max)
        return rows == LargeReference.count ? nil : "are \(rows)"
      }
    }
  }

  private mutating func scan(_ store: Store) {
    judge("scan") {
      try store.read { tx in
        guard let flights = try tx.collection("flights") else { return "no collection" }
        var (count, sum) = (0, Int64(0))
        try tx.forEachStoredRecord(in: flights) { _, _, _, record in
          count += 1
          sum += try number(record, flights) ?? 0
          return true
        }
        return count == LargeReference.count && sum == LargeReference.sum ? nil : "is \(count), \(sum)"
      }
    }
  }

  private mutating func export(_ store: Store) {
    judge("export") {
      try store.read { tx in
        guard let flights = try tx.collection("flights") else { return "no collection" }
        var count = 0
        try tx.forEachRecord(in: flights) { id, _, _ in
          count += 1
          return true
        }
        return count == LargeReference.count ? nil : "is \(count)"
      }
    }
  }

  private mutating func build(_ store: Store) {
    judge("index build") {
      try store.createIndex(
        IndexDefinition(name: "bySeen", collection: "flights", fields: [IndexField(["seen"])]))
      return try store.read { tx in
        guard let flights = try tx.collection("flights") else { return "no collection" }
        guard let index = try tx.readyIndexes(of: flights).last else { throw Self.noIndex }
        let rows = try tx.countRows(in: index, limit: .max)
        return rows == LargeReference.count ? nil : "has \(rows)"
      }
    }
  }

  /// What a peer's session is sent.
  private mutating func log(_ store: Store) {
    judge("changes") {
      try store.read { tx in
        var members = 0
        var damaged = 0
        try tx.changes(after: 0) { entry in
          try entry.forEachMember(damaged: { _ in damaged += 1 }) { _, _, _, _, _ in
            members += 1
            return true
          }
          return true
        }
        return damaged > 0 || members >= LargeReference.count - 1 ? nil : "name \(members)"
      }
    }
  }
}

extension PageQuestions {
  /// A peer that has nothing gets all that can be read, and is told that it has all only then.
  private mutating func peer(_ store: Store) {
    let otherPath = path + "-peer"
    judge("session") {
      Files.removeTree(otherPath)
      let other = try Store.open(at: otherPath, options: .silent)
      defer {
        other.close()
        Files.removeTree(otherPath)
      }
      let had = try store.read { try $0.collections().first { $0.name == "flights" }?.documentCount ?? 0 }
      let outcome = try PagePeers.meet(store, other, asking: "SELECT * FROM flights")
      let (count, strange) = try Self.arrived(at: other)
      if let strange { return strange }
      if count == had { return nil }
      if let closed = outcome.closed {
        guard closed.message.contains("damaged") else { return "ends with \(closed)" }
        throw StoreError(.corrupt, closed.message, operation: "session")
      }
      if outcome.isCaughtUp, had - count > outcome.namedRecords {
        return "is told as caught up with \(count) of \(had) documents, \(outcome.namedRecords) of them named"
      }
      guard outcome.hasNamedRange || outcome.namedRecords > 0 else {
        return "ends with \(count) of \(had) documents, without a word"
      }
      throw StoreError(.corrupt, "The session named what it cannot read", operation: "session")
    }
  }

  /// How many documents have arrived, and one that is not what it was.
  private static func arrived(at store: Store) throws -> (count: Int, strange: String?) {
    try store.read { tx in
      guard let flights = try tx.collection("flights") else { return (0, nil) }
      var (count, strange) = (0, String?.none)
      try tx.forEachRecord(in: flights) { id, _, record in
        count += 1
        let n = try number(record, flights) ?? -2
        let expected = n < 0 ? try DocumentID(.string("new one")) : try LargeReference.id(Int(n))
        if try DocumentID(validating: id) != expected { strange = "brings \(n) under another id" }
        return true
      }
      return (count, strange)
    }
  }
}

private func number(_ record: borrowing RecordView, _ collection: Collection) throws -> Int64? {
  var path = ResolvedPath([.key("n")])
  path.resolve(in: collection.keys)
  guard case .int(let n)? = try record.value(at: path)?.materialize(collection.keys) else { return nil }
  return n
}
