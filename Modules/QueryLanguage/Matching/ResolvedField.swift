package import CRDTCore

/// One path of a query, resolved to read records of one collection.
package struct ResolvedField: Sendable {
  /// Whether the path begins at `_id`, which is the record's key and not in the record.
  let isIdentifier: Bool
  /// Whether the path is empty: the whole document, with its id.
  let isWhole: Bool
  /// The part that is read in place: up to the first array index.
  package private(set) var path: ResolvedPath
  /// The rest of the path, which is followed on values.
  let rest: [PathComponent]

  package init(_ whole: FieldPath) {
    isIdentifier = whole.first == .key("_id")
    isWhole = whole.isEmpty
    let inPlace = isIdentifier ? 1 : whole.firstIndex(where: \.isIndex) ?? whole.count
    path = ResolvedPath(Array(whole.prefix(inPlace)))
    rest = Array(whole.dropFirst(inPlace))
  }

  /// Whether the whole path is read in place.
  package var isInPlace: Bool { rest.isEmpty && !isIdentifier && !isWhole }

  package mutating func resolve(_ keys: KeyTable) { path.resolve(in: keys) }

  package func value(
    _ id: RawSpan, _ record: borrowing RecordView, _ keys: KeyTable
  ) throws(QueryError) -> Value? {
    do {
      if isIdentifier { return try DocumentID.decode(id).value(at: rest) }
      if isWhole {
        var fields = try record.fields(keys)
        fields["_id"] = try DocumentID.decode(id)
        return .map(fields)
      }
      let value = try record.value(at: path)?.materialize(keys)
      return rest.isEmpty ? value : value?.value(at: rest)
    } catch {
      throw QueryError.unreadable(error).about(id)
    }
  }
}

extension PathComponent {
  fileprivate var isIndex: Bool {
    switch self {
    case .index: true
    case .key: false
    }
  }
}

extension QueryError {
  /// The error for a record or an id in the store that cannot be decoded.
  package static func unreadable(_ error: CodecError) -> QueryError {
    QueryError(.runtime, "a stored document cannot be read: \(error.message)")
  }
}
