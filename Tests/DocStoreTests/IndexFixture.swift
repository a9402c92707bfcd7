import CRDTCore
import DocStore
import Testing

extension IndexDefinition {
  /// An index of `cars` by the given fields; a name that begins with `-` is descending, dots divide keys.
  static func cars(_ name: String, _ fields: String...) -> IndexDefinition {
    IndexDefinition(
      name: name, collection: "cars",
      fields: fields.map { field in
        let isDescending = field.hasPrefix("-")
        let path = field.drop { $0 == "-" }.split(separator: ".").map { TextKey(String($0)) }
        return IndexField(path, descending: isDescending)
      })
  }
}

extension Store {
  /// The indexes of a collection.
  func indexes(of name: String = "cars") throws -> [IndexInfo] {
    try read { tx in
      guard let collection = try tx.collection(name) else { return [] }
      return try tx.indexes(of: collection)
    }
  }

  /// The ids under an index, in its order.
  func ids(
    in index: String, from: IndexBound? = nil, to: IndexBound? = nil, reversed: Bool = false
  ) throws -> [Value] {
    try read { tx in
      let collection = try #require(try tx.collection("cars"))
      let index = try #require(try tx.indexes(of: collection).first { $0.definition.name == index })
      var ids: [Value] = []
      try tx.forEachRow(in: index, from: from, to: to, reversed: reversed) { row in
        let id = try tx.withRecord(numbered: row.document, in: collection) { id, _, _ in
          try DocumentID(validating: id).value
        }
        ids.append(try #require(id))
        return true
      }
      return ids
    }
  }

  /// What is wrong with the indexes.
  func indexFindings() throws -> [String] {
    try read { tx in
      var findings: [String] = []
      try tx.checkIndexes { findings.append($0) }
      return findings
    }
  }
}
