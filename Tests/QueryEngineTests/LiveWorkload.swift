import CRDTCore
import DocStore
import Synchronization
import TestKit

/// A store whose commits are kept, and a peer's store that writes the same documents now and then.
struct LiveWorkload {
  let directory: TemporaryDirectory
  let store: Store
  private let peer: Store
  let commits = CommitLog()
  private let listener: CommitListener

  init() throws {
    directory = try TemporaryDirectory()
    let clock = SharedClock()
    let options = StoreOptions(mapBytes: 64 << 20, now: { clock.next() }, log: { _, _ in })
    store = try Store.open(at: directory.file("store"), options: options)
    peer = try Store.open(at: directory.file("peer"), options: options)
    listener = store.onCommit { [commits] in commits.append($0) }
  }

  /// Makes some writes in one commit: inserts, updates, removals, merges, evictions and empty writes.
  ///
  /// Some of them write fields that no document had before.
  func change(_ random: inout SeededGenerator) throws {
    var generator = random.split()
    let merged = try (0..<generator.int(below: 3)).map { _ in try written(by: peer, &generator) }
    _ = try store.write { transaction in
      for (id, wire) in merged { _ = try transaction.merge(wire: wire.span.bytes, id: id, in: "t") }
      var removed: Set<String> = []
      var upserted: Set<String> = []
      for _ in 0...generator.int(below: generator.oneIn(6) ? 12 : 3) {
        let name = "d\(generator.int(below: 14))"
        guard !removed.contains(name) else { continue }
        let id = try DocumentID(name)
        let number = Value.int(Int64(generator.int(below: 7)))
        switch generator.int(below: 10) {
        case 0 where !upserted.contains(name):
          if try transaction.remove(id, in: "t") { removed.insert(name) }
        case 1: try transaction.evict(id, in: "t")
        case 2: try transaction.update(id, in: "t", [.remove([generator.pick(["n", "g"])])])
        case 3: try transaction.update(id, in: "t", [.set(["other\(generator.int(below: 40))"], number)])
        case 4: try transaction.upsert(["_id": .string(name), "n": number], into: "elsewhere")
        case 5: try transaction.update(id, in: "t", [.set(["n"], number)])
        default:
          upserted.insert(name)
          try transaction.upsert(Self.document(name, &generator), into: "t")
        }
      }
    }
  }

  private static func document(_ name: String, _ generator: inout SeededGenerator) -> [TextKey: Value] {
    let number = Int64(generator.int(below: 7))
    return [
      "_id": .string(name), "n": generator.oneIn(5) ? .double(Double(number) / 2) : .int(number),
      "g": generator.oneIn(9) ? .null : .string(generator.pick(["a", "b", "c"])),
    ]
  }

  /// A document that a store has just written, as it would send it.
  private func written(
    by peer: Store, _ generator: inout SeededGenerator
  ) throws -> (id: DocumentID, wire: [UInt8]) {
    let name = "d\(generator.int(below: 14))"
    let document = Self.document(name, &generator)
    let isRemoved = generator.oneIn(5)
    _ = try peer.write { try $0.upsert(document, into: "t") }
    let id = try DocumentID(name)
    if isRemoved { _ = try peer.write { _ = try $0.remove(id, in: "t") } }
    let wire = try peer.read { transaction -> [UInt8] in
      guard let collection = try transaction.collection("t") else { return [] }
      let tables = RecordTables(keys: collection.keys, sites: transaction.sites)
      return try transaction.withRecord(collection, id) { record, _ in
        var out = ByteWriter()
        try WireDocument.append(record, lacking: VersionVector(), tables: tables, to: &out)
        return out.bytes
      } ?? []
    }
    return (id, wire)
  }
}

/// The commits of a store, in order, until they are taken.
final class CommitLog: Sendable {
  private let commits = Mutex<[Commit]>([])

  func append(_ commit: Commit) { commits.withLock { $0.append(commit) } }

  func take() -> [Commit] {
    commits.withLock { commits in
      defer { commits = [] }
      return commits
    }
  }
}
