package import CRDTCore
package import DocStore
import QueryEngine

extension StoreReport {
  /// The fields of some documents of each collection, with the types of their values, and the indexes.
  ///
  /// - Parameters:
  ///   - store: The store.
  ///   - name: A collection; `nil` for all.
  ///   - documents: The number of documents of each collection to examine.
  /// - Returns: The fields for display.
  /// - Throws: `notFound` for a collection that was never written, with the nearest name.
  package static func schema(
    of store: Store, _ name: String?, documents: Int
  ) throws -> [TextKey: Value] {
    try store.read { transaction in
      let names = try name.map { [$0] } ?? transaction.collections().map(\.name)
      let collections = try names.map { name -> Value in
        let collection = try existing(name, in: transaction)
        let sample = try FieldSample(of: collection, in: transaction, documents: documents)
        let indexes = try transaction.indexes(of: collection).map { index in
          Value.map([
            "name": .string(index.definition.name),
            "keys": .array(index.definition.keyTexts.map { .string($0) }),
            "isReady": .bool(index.state == .ready),
          ])
        }
        return .map([
          "name": .string(name), "documents": .count(sample.count), "fields": .array(sample.values),
          "indexes": .array(indexes),
        ])
      }
      return ["collections": .array(collections)]
    }
  }
}

/// The fields of some documents of a collection, with the types of their values.
private struct FieldSample {
  private var types: [TextKey: [String: Int]] = [:]
  private(set) var count = 0

  init(
    of collection: DocStore.Collection, in transaction: borrowing ReadTransaction, documents: Int
  ) throws {
    var (types, count) = ([TextKey: [String: Int]](), 0)
    try transaction.forEachRecord(in: collection) { _, _, record in
      guard count < documents else { return false }
      guard record.isAlive else { return true }
      for (name, value) in try record.fields(collection.keys) {
        types[name, default: [:]][value.typeName, default: 0] += 1
      }
      count += 1
      return true
    }
    (self.types, self.count) = (types, count)
  }

  /// The fields by name, with the most frequent type of each first.
  var values: [Value] {
    types.sorted { $0.key < $1.key }.map { name, types in
      let listed = types.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map(\.key)
      return .map([
        "name": .string(name.text), "types": .array(listed.map { .string($0) }),
        "documents": .count(types.values.reduce(0, +)),
      ])
    }
  }
}

extension Value {
  /// The user's word for the type of a value.
  fileprivate var typeName: String {
    switch self {
    case .null: "null"
    case .bool: "boolean"
    case .int: "integer"
    case .double: "double"
    case .string: "string"
    case .decimal: "decimal"
    case .bytes: "bytes"
    case .array: "array"
    case .map: "map"
    case .counter: "counter"
    case .attachment: "attachment"
    }
  }
}
