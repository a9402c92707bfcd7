import CRDTCore
import DocStore
import Glibc
import TestKit

/// A closed store's file, as it is and as it was some commits before, and all that is in it.
struct Reference {
  let file: [UInt8]
  let older: [UInt8]
  /// The records' bytes, by collection and id.
  let documents: [String: [[UInt8]: [UInt8]]]
  /// The documents' ids in the order of each index, by its name.
  let rows: [String: [[UInt8]]]

  var count: Int { documents.values.reduce(0) { $0 + $1.count } }

  /// Fills a store in which everything occurs that a store can hold.
  static func make(in scratch: Scratch, seed: UInt64) throws -> Reference {
    let peers = try PeerDocuments.make(in: scratch)
    let path = scratch.file("reference")
    let older = scratch.file("older")
    let lines = try Child.run { descriptor in
      let store = try open(path)
      try Model.prepare(store)
      var random = SeededGenerator(seed: seed)
      for number in 0..<200 {
        try store.write { tx in
          try tx.upsert(
            ["n": .int(Int64(number)), "text": .string(random.text(50 + random.int(below: 500)))],
            id: DocumentID(.int(Int64(number))), into: "plain")
        }
      }
      try store.write { tx in
        try tx.upsert(["text": .string(random.text(70_000))], id: DocumentID("large"), into: "plain")
      }
      for index in Chores.indexes { try store.createIndex(index) }
      var runners = Model(seed: seed, lanes: 3, peers: peers).lanes.map {
        LaneRunner(lane: $0, store: store, defect: .none) { _, _, _ in }
      }
      for round in 0..<30 {
        if round == 15 { try Files.write(try Files.read(path + "/data.mdb"), to: older) }
        for index in runners.indices { try runners[index].step() }
        // Some deletions are certificates then, and some are not yet.
        if round == 20 {
          let lifetime = store.tombstoneLifetime
          store.tombstoneLifetime = .zero
          try store.collect()
          store.tombstoneLifetime = lifetime
        }
      }
      store.close()
      let again = try open(path)
      for (collection, documents) in try dump(again) {
        for (id, record) in documents {
          Child.write("\(collection) \(hex(id)) \(hex(record))\n", to: descriptor)
        }
      }
      for index in Chores.indexes {
        for id in try order(of: index, again) {
          Child.write("\(index.name) \(hex(id))\n", to: descriptor)
        }
      }
      again.close()
    }
    var documents: [String: [[UInt8]: [UInt8]]] = [:]
    var rows: [String: [[UInt8]]] = [:]
    for line in lines {
      let words = line.split(separator: " ")
      if words.count == 2 {
        rows[String(words[0]), default: []].append(bytes(words[1]))
        continue
      }
      guard words.count == 3 else { throw Failure(.harness, "a line of the dump has \(words.count) words") }
      documents[String(words[0]), default: [:]][bytes(words[1])] = bytes(words[2])
    }
    return Reference(
      file: try Files.read(path + "/data.mdb"), older: try Files.read(older), documents: documents, rows: rows
    )
  }

  /// The large document of the reference is too large to be sent under these limits.
  static func open(_ path: String, trustsPages: Bool = false) throws -> Store {
    var options = StoreOptions.silent
    options.trustsPages = trustsPages
    options.softDocumentBytes = 50_000
    options.hardDocumentBytes = 60_000
    return try Store.open(at: path, options: options)
  }

  /// The ids of an index's rows, in its order.
  static func order(of definition: IndexDefinition, _ store: Store) throws -> [[UInt8]] {
    try store.read { tx in
      guard let collection = try tx.collection(definition.collection),
        let index = try tx.indexes(of: collection).first(where: { $0.definition == definition })
      else { return [] }
      var ids: [[UInt8]] = []
      try tx.forEachRow(in: index) { row in
        let id = try tx.withRecord(numbered: row.document, in: collection) { id, _, _ in
          id.withUnsafeBytes { Array($0) }
        }
        // A row that leads nowhere counts as one out of order.
        ids.append(id ?? [])
        return true
      }
      return ids
    }
  }

  private static func dump(_ store: Store) throws -> [String: [[UInt8]: [UInt8]]] {
    var all: [String: [[UInt8]: [UInt8]]] = [:]
    try store.read { tx in
      for info in try tx.collections() {
        guard let collection = try tx.collection(info.name) else { continue }
        var documents: [[UInt8]: [UInt8]] = [:]
        try tx.forEachRecord(in: collection, verify: true) { id, _, _ in
          let id = try DocumentID(validating: id)
          documents[id.bytes] = try tx.record(collection, id)?.bytes
          return true
        }
        all[info.name] = documents
      }
    }
    return all
  }

  private static func hex(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(
      decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }

  private static func bytes(_ hex: Substring) -> [UInt8] {
    func value(_ digit: UInt8) -> UInt8 { digit < 97 ? digit - 48 : digit - 87 }
    let digits = Array(hex.utf8)
    return stride(from: 0, to: digits.count - 1, by: 2).map { value(digits[$0]) << 4 | value(digits[$0 + 1]) }
  }
}
