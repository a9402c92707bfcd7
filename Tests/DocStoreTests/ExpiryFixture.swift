import CRDTCore
import DocStore
import Synchronization
import TestKit
import Testing

/// A clock that is moved by hand.
final class DayClock: Sendable {
  static let day: UInt64 = 86_400_000
  private let time: Mutex<UInt64>

  init(_ start: UInt64 = 1_800_000_000_000) { time = Mutex(start) }

  var now: UInt64 { time.withLock { $0 } }

  func advance(days: UInt64) { time.withLock { $0 += days * Self.day } }

  func set(_ now: UInt64) { time.withLock { $0 = now } }

  /// Lets days go by in which the stores are in use.
  func pass(days: Int, _ stores: Store...) throws {
    for _ in 0..<days {
      advance(days: 1)
      for store in stores { try store.collect() }
    }
  }
}

extension StoreFixture {
  /// A store that goes by `clock` and collects when told to.
  convenience init(seed: UInt64 = 1, clock: DayClock, _ adjust: (inout StoreOptions) -> Void = { _ in })
    throws
  {
    try self.init(seed: seed) {
      $0.now = { clock.now }
      $0.collectionInterval = nil
      adjust(&$0)
    }
  }
}

/// What a store holds.
struct Memory: Equatable {
  var records: Int
  var alive: Int
  var certificates: Int
}

enum Life: Equatable { case unknown, alive, deleted }

extension Store {
  func memory() throws -> Memory {
    try read { tx in
      var memory = Memory(records: 0, alive: 0, certificates: try tx.certificateCount())
      guard let cars = try tx.collection("cars") else { return memory }
      try tx.forEachRecord(in: cars) { _, _, record in
        memory.records += 1
        memory.alive += record.isAlive ? 1 : 0
        return true
      }
      let info = try #require(try tx.collections().first { $0.name == "cars" })
      expect(info.documentCount == memory.alive && info.tombstoneCount == memory.records - memory.alive)
      return memory
    }
  }

  func state(_ id: String) throws -> Life {
    try read { tx in
      guard let cars = try tx.collection("cars") else { return .unknown }
      return try tx.withRecord(cars, DocumentID(id)) { record, _ in record.isAlive ? .alive : .deleted }
        ?? .unknown
    }
  }

  func summary(_ id: String) throws -> Summary? {
    try read { tx in try tx.withRecord(try #require(try tx.collection("cars")), DocumentID(id)) { $1 } }
  }

  func bytes(_ id: String) throws -> Int {
    try read { tx in
      try tx.withRecord(try #require(try tx.collection("cars")), DocumentID(id)) { record, _ in
        record.byteCount
      } ?? 0
    }
  }

  func groupCount() throws -> Int {
    try read { tx in
      var count = 0
      try tx.groups(after: 0) { _, _ in
        count += 1
        return true
      }
      return count
    }
  }

  /// Writes and deletes a document of which then only the certificate is left.
  func certify(_ id: String, _ fields: [TextKey: Value]) throws {
    try put(id, fields)
    try write { try $0.remove(DocumentID(id), in: "cars") }
    try write { _ = try $0.evict(DocumentID(id), in: "cars") }
    #expect(try state(id) == .deleted)
    #expect(try memory().certificates == 1)
  }

  /// Merges a document of this store into `other`.
  func send(_ id: String, to other: Store) throws {
    let wire = try read { tx in
      let cars = try #require(try tx.collection("cars"))
      let tables = RecordTables(keys: cars.keys, sites: tx.sites)
      return try #require(
        try tx.withRecord(cars, DocumentID(id)) { record, _ in
          var out = ByteWriter()
          try WireDocument.append(record, lacking: VersionVector(), tables: tables, to: &out)
          return out.bytes
        })
    }
    _ = try other.write(origin: .remote(1)) {
      try $0.merge(wire: wire.span.bytes, id: DocumentID(id), in: "cars")
    }
  }

  /// The entries of one of the store's tables as they stand in the file.
  func entries(of table: String) throws -> [(key: [UInt8], value: [UInt8])] {
    try read { tx in
      var entries: [(key: [UInt8], value: [UInt8])] = []
      try tx.forEachEntry(of: table) { key, value in
        entries.append((key.withUnsafeBytes { Array($0) }, value.withUnsafeBytes { Array($0) }))
        return true
      }
      return entries
    }
  }

  func certificateEntries() throws -> Int { try read { try $0.certificateCount() } }
}
