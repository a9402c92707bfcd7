import ArgumentParser
import CRDTCore
import DocStore
import Foundation
import QueryEngine

struct InspectCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "inspect", abstract: "Show what a store holds, check every record, or show one document.",
    discussion: """
      Examples:
        dunlin inspect store
        dunlin inspect store flights --json
        dunlin inspect store flights UA1545
      """)

  @Argument(help: "The store's directory.", completion: .directory)
  var store: String
  @Argument(help: "A collection: its documents are counted, measured and checked.")
  var collection: String?
  @Argument(help: "The id of one document, as JSON, or as plain text for a string.")
  var id: String?
  @Flag(help: "Print one JSON object.")
  var json = false

  func run() throws {
    let store = try Store.open(existing: store)
    defer { store.close() }
    guard let collection else { return try showStore(store) }
    guard let id else { return try showCollection(store, collection) }
    try showDocument(store, collection, id)
  }

  private func showStore(_ store: Store) throws {
    if json { return try Output.print(json: Self.values(store)) }
    print("site      \(store.site)")
    try store.read { transaction in
      print("sequence  \(transaction.sequence)")
      var table = TextTable(["collection", "documents", "digest"], rightAligned: [1])
      for info in try transaction.collections() {
        let figures = try Figures(info.name, in: transaction)
        table.add([info.name, figures.documents.groupedDigits, figures.digest])
      }
      print(table.text)
    }
  }

  private func showCollection(_ store: Store, _ name: String) throws {
    try store.read { transaction in
      let figures = try Figures(name, in: transaction)
      if json {
        try Output.print(json: figures.values)
      } else {
        print(
          """
          documents   \(figures.documents.groupedDigits)
          tombstones  \(figures.tombstones.groupedDigits)
          records     \(figures.recordBytes.asBytes)
          damaged     \(figures.damaged.groupedDigits)
          digest      \(figures.digest)
          """)
      }
      if figures.damaged > 0 { throw ToolError("\(figures.damaged) records of \(name) are damaged") }
    }
  }

  private func showDocument(_ store: Store, _ name: String, _ text: String) throws {
    let id = try DocumentID(argument: text)
    try store.read { transaction in
      guard let collection = try transaction.collection(name),
        let record = try transaction.record(collection, id)
      else { throw ToolError("\(name) has no document \(text)") }
      let (isAlive, fields) = try record.withView { ($0.isAlive, try $0.fields(collection.keys)) }
      if json {
        return try Output.print(json: [
          "collection": .string(name), "_id": id.value, "isAlive": .bool(isAlive),
          "recordBytes": .int(Int64(record.bytes.count)), "document": .map(fields),
        ])
      }
      let state = isAlive ? "alive" : "deleted: a tombstone"
      print(
        "\(state), \(record.bytes.count.groupedDigits) bytes as a record, \(JSON.text(of: .map(fields)).utf8.count.groupedDigits) as JSON"
      )
      print(JSON.text(of: .map(fields), options: .init(isPretty: true)))
    }
  }
}

extension InspectCommand {
  /// What the command prints of a whole store as JSON.
  private static func values(_ store: Store) throws -> [TextKey: Value] {
    try store.read { transaction in
      var collections: [TextKey: Value] = [:]
      for info in try transaction.collections() {
        collections[TextKey(info.name)] = .map(try Figures(info.name, in: transaction).values)
      }
      return [
        "site": .string(store.site.description), "sequence": .int(Int64(clamping: transaction.sequence)),
        "collections": .map(collections),
      ]
    }
  }
}

extension Figures {
  /// What commands print of them as JSON.
  var values: [TextKey: Value] {
    [
      "documents": .int(Int64(documents)), "tombstones": .int(Int64(tombstones)),
      "damaged": .int(Int64(damaged)),
      "recordBytes": .int(Int64(recordBytes)), "digest": .string(digest),
    ]
  }
}

/// What a walk over a collection tells.
struct Figures {
  var documents = 0
  var tombstones = 0
  var damaged = 0
  var recordBytes = 0
  private var sum = Summary.zero

  /// Walks a collection, or those of its documents that match; one that was never written has none.
  init(_ name: String, in transaction: borrowing ReadTransaction, matching matcher: RecordMatcher? = nil)
    throws
  {
    guard let collection = try transaction.collection(name) else { return }
    var matcher = matcher
    matcher?.resolve(collection.keys)
    var (documents, tombstones, damaged, bytes, sum) = (0, 0, 0, 0, Summary.zero)
    try transaction.forEachStoredRecord(in: collection) { _, id, summary, record in
      if let matcher, !matcher.matches(id, record) { return true }
      if record.isAlive {
        documents += 1
        sum = sum &+ summary
      } else {
        tombstones += 1
      }
      if !record.verify() { damaged += 1 }
      bytes += record.byteCount
      return true
    }
    (self.documents, self.tombstones, self.damaged, recordBytes, self.sum) = (
      documents, tombstones, damaged, bytes, sum
    )
  }

  /// The sum of the documents' summaries: equal at two peers that hold the same.
  var digest: String {
    let digits = String(sum.high ^ sum.low, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}
