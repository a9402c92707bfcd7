// Side values that contain content of documents: the transaction that erases one of these removes the value.
extension WriteTransaction {
  /// The side values by document.
  ///
  /// A key is the document's hash, the length of a table's name in one byte, the name, and a key there.
  private static let contents = SideTable("store.contents")

  /// Sets a side value that contains content of documents.
  ///
  /// - Parameters:
  ///   - value: The value.
  ///   - table: The table; not a working table.
  ///   - key: The key, which is new in the table.
  ///   - documents: The documents whose content is in the value.
  /// - Throws: `limit` for a key or a value that is too long; `full`, `io`.
  /// - Complexity: O(*n*) in the documents, about 100 bytes each.
  package func setSideValue(
    _ value: [UInt8], _ table: SideTable, key: [UInt8], contentOf documents: [HashedDocument]
  ) throws(StoreError) {
    precondition(!table.isWorking, "working tables hold no content of documents")
    try setSideValue(value, table, key: key)
    for document in documents {
      try setSideValue([1], Self.contents, key: Self.key(document, table, key))
    }
  }

  /// Removes a side value that contains content of documents, if it is still there.
  ///
  /// - Parameters:
  ///   - table: The table.
  ///   - key: The key.
  ///   - documents: The documents with which the value was set.
  /// - Throws: `limit`, `io`.
  package func removeSideValue(
    _ table: SideTable, key: [UInt8], contentOf documents: [HashedDocument]
  ) throws(StoreError) {
    try setSideValue(nil, table, key: key)
    for document in documents { try setSideValue(nil, Self.contents, key: Self.key(document, table, key)) }
  }

  /// Removes all side values that contain content of any of some documents.
  func removeSideValues(contentOf documents: Set<HashedDocument>) throws {
    let hashes = documents.union(documents.map(\.ofAny)).sorted()
    for hash in hashes {
      let prefix = hash.bytes
      var found: [[UInt8]] = []
      try forEachSideKey(Self.contents, from: prefix) { key, _ in
        guard key.starts(with: prefix) else { return false }
        found.append(key)
        return true
      }
      for key in found {
        if let (table, key) = Self.parse(key) { try setSideValue(nil, table, key: key) }
        try setSideValue(nil, Self.contents, key: key)
      }
    }
  }

  private static func key(_ document: HashedDocument, _ table: SideTable, _ key: [UInt8]) -> [UInt8] {
    document.bytes + [UInt8(table.name.utf8.count)] + Array(table.name.utf8) + key
  }

  /// The table and the key that a key names; `nil` if it is malformed.
  private static func parse(_ key: [UInt8]) -> (table: SideTable, key: [UInt8])? {
    let rest = key.dropFirst(HashedDocument.byteCount)
    guard let count = rest.first, rest.count > count,
      let table = SideTable(stored: rest.dropFirst().prefix(Int(count)))
    else { return nil }
    return (table, Array(rest.dropFirst(1 + Int(count))))
  }
}
