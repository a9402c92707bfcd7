import CRDTCore
import DocStore
import TestKit

/// Fills a place to the last byte and looks what still works.
struct FullScript {
  let path: String
  var options = StoreOptions.silent
  /// Makes some room, as a user who deletes something would; `nil` where there is none to be had.
  var makeRoom: (() -> Void)?

  private var random: SeededGenerator
  private var tally = Tally()
  private var stored: [Int: [TextKey: Value]] = [:]
  private var next = 0

  private static let collection = "cars"
  /// How a disk that loses data may show.
  static let defects: Set<Failure.Kind> = [.lost, .wrong, .unreadable, .answer, .crash]

  init(path: String, seed: UInt64) {
    self.path = path
    random = SeededGenerator(seed: seed)
  }

  mutating func run() throws -> Tally {
    var store = try Store.open(at: path, options: options)
    defer { store.close() }
    tally["documents when full"] = try fill(store)
    try check(store)
    try maintain(store)
    store.close()
    store = try Store.open(at: path, options: options)
    try check(store)
    // A few at a time, as room is made.
    let leaving = stored.keys.sorted().prefix(stored.count / 2)
    for start in stride(from: 0, to: leaving.count, by: 6) {
      try evict(leaving[start..<min(start + 6, leaving.count)], store)
    }
    tally["evicted"] = leaving.count
    try check(store)
    let again = try fill(store)
    guard again > 0 else { throw Failure(.answer, "no room although half of the documents left") }
    tally["written in their place"] = again
    if let makeRoom {
      makeRoom()
      let more = try fill(store, atMost: stored.count)
      guard more > 0 else { throw Failure(.answer, "room was made, and nothing can be written") }
      tally["written when there was room"] = more
    }
    try check(store)
    store.close()
    store = try Store.open(at: path, options: options)
    try check(store)
    return tally
  }

  /// Writes until there is no room, in transactions of several sizes.
  private mutating func fill(_ store: Store, atMost limit: Int = .max) throws -> Int {
    let before = next
    while next - before < limit {
      let count = [1, 5, 40][random.int(below: 3)]
      var added: [Int: [TextKey: Value]] = [:]
      for number in next..<next + count {
        added[number] = ["n": .int(Int64(number)), "text": .string(random.text(3_000))]
      }
      do {
        try store.write { tx in
          for (number, fields) in added {
            try tx.upsert(fields, id: DocumentID(.int(Int64(number))), into: Self.collection)
          }
        }
        stored.merge(added) { $1 }
        next += count
      } catch let error as StoreError {
        guard error.code == .full else { throw Failure(.answer, "no room, and the answer is \(error)") }
        tally["refused for want of room"] += 1
        // A large transaction may not fit where a small one does.
        if count == 1 { return next - before }
      }
    }
    return next - before
  }

  /// What needs room for a second file may fail, and must leave no trace of itself then.
  private mutating func maintain(_ store: Store) throws {
    let before = Set(Files.names(in: path))
    let backup = path + "-backup"
    for (name, work) in [
      ("backups", { try store.backup(to: backup) }), ("compactions", { try store.compact() }),
    ] as [(String, () throws -> Void)] {
      do {
        try work()
        tally["\(name) that fitted"] += 1
      } catch let error as StoreError {
        guard error.code == .full else { throw Failure(.answer, "\(name) without room: \(error)") }
        tally["\(name) refused"] += 1
      }
      guard Set(Files.names(in: path)) == before else { throw Failure(.answer, "\(name) left a file behind") }
      guard Files.names(in: backup + ".partial").isEmpty else {
        throw Failure(.answer, "\(name) left a directory behind")
      }
      try check(store)
    }
    Files.removeTree(backup)
  }

  private mutating func evict(_ numbers: ArraySlice<Int>, _ store: Store) throws {
    do {
      try store.write { tx in
        for number in numbers { try tx.evict(DocumentID(.int(Int64(number))), in: Self.collection) }
      }
    } catch {
      throw Failure(.answer, "nothing can be evicted: \(error)")
    }
    for number in numbers { stored[number] = nil }
  }

  /// Everything can be read and sent.
  private func check(_ store: Store) throws {
    try store.read { tx in
      guard let collection = try tx.collection(Self.collection) else {
        throw Failure(.lost, "the collection is not there")
      }
      let tables = RecordTables(keys: collection.keys, sites: tx.sites)
      var count = 0
      try tx.forEachRecord(in: collection, verify: true) { id, _, record in
        guard case .int(let number) = try DocumentID(validating: id).value,
          try record.fields(collection.keys) == stored[Int(number)]
        else { throw Failure(.wrong, "a document holds something else") }
        var delta = ByteWriter()
        try WireDocument.append(record, lacking: VersionVector(), tables: tables, to: &delta)
        count += delta.count > 0 ? 1 : 0
        return true
      }
      guard count == stored.count else { throw Failure(.lost, "\(count) of \(stored.count) documents") }
    }
  }
}
