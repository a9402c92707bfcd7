import CRDTCore
import DocStore
import TestKit

/// Documents of another site, as a session would hand them over: each whole, and as a delta to a later state.
struct PeerDocuments {
  struct Document {
    let whole: [UInt8]
    let fields: [TextKey: Value]
    let delta: [UInt8]
    let laterFields: [TextKey: Value]
  }

  let documents: [Document]

  static let count = 24

  /// Writes the documents into a store of their own, always the same, in a child process.
  static func make(in scratch: Scratch) throws -> PeerDocuments {
    let path = scratch.file("peer")
    var random = SeededGenerator(seed: 99)
    let fields = (0..<count).map { (number) -> [TextKey: Value] in
      [
        "n": Value.int(Int64(number)), "text": .string(random.text(20 + random.int(below: 300))),
        "nested": .map(["a": .int(1)]),
      ]
    }
    _ = try Child.run { _ in
      let numbers = SharedGenerator(seed: 7)
      let store = try Store.open(
        at: path, options: StoreOptions(now: { 1_700_000_000_000 }, random: { numbers.next() }))
      defer { store.close() }
      for number in 0..<count {
        let id = try DocumentID(.int(Int64(number)))
        try store.write { try $0.upsert(fields[number], id: id, into: "peer") }
        let (whole, vector) = try export(store, id, lacking: VersionVector())
        try store.write { tx in
          _ = try tx.update(id, in: "peer", [.set(["nested", "b"], .int(2)), .remove(["text"])])
        }
        let (delta, _) = try export(store, id, lacking: vector)
        try Files.write(whole, to: "\(path)/whole-\(number)")
        try Files.write(delta, to: "\(path)/delta-\(number)")
      }
    }
    return PeerDocuments(
      documents: try (0..<count).map { number in
        var later = fields[number]
        later["text"] = nil
        later["nested"] = .map(["a": .int(1), "b": .int(2)])
        return Document(
          whole: try Files.read("\(path)/whole-\(number)"), fields: fields[number],
          delta: try Files.read("\(path)/delta-\(number)"), laterFields: later)
      })
  }

  private static func export(_ store: Store, _ id: DocumentID, lacking base: VersionVector) throws -> (
    [UInt8], VersionVector
  ) {
    let exported = try store.read { tx -> ([UInt8], VersionVector)? in
      guard let collection = try tx.collection("peer") else { return nil }
      let tables = RecordTables(keys: collection.keys, sites: tx.sites)
      return try tx.withRecord(collection, id) { record, _ in
        var out = ByteWriter()
        try WireDocument.append(record, lacking: base, tables: tables, to: &out)
        return (out.bytes, try record.vector(sites: tables.sites))
      }
    }
    guard let exported else { throw Failure(.harness, "the peer has no document") }
    return exported
  }
}
