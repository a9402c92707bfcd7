package import CRDTCore
import DocStore

extension Plan {
  /// The rows of a SELECT.
  ///
  /// - Throws: What reading the store throws; a `QueryError` when an expression fails on a document.
  func rows(in source: borrowing some RecordSource & ~Copyable, _ facts: SystemFacts) throws -> [Row] {
    if case .countAll(let alias) = projection {
      let total = try count(in: source, facts)
      return Array([Row([alias: .int(Int64(total))])].dropFirst(offset).prefix(limit ?? 1))
    }
    if case .virtual(let virtual) = access { return try rows(of: virtual.documents(in: source, facts)) }
    return try sortedRows(in: source).map(\.row)
  }

  /// Calls `body` with each living document that the filter accepts, by ascending id, until it returns `false`.
  func forEachMatch(
    in source: borrowing some RecordSource & ~Copyable, _ collection: DocStore.Collection,
    _ body: (_ id: RawSpan, _ record: borrowing RecordView) throws -> Bool
  ) throws {
    var matcher = try RecordMatcher(filter)
    matcher.resolve(collection.keys)
    let filter = matcher
    switch access {
    case .ids(let ids):
      for id in ids {
        let goesOn = try source.withRecord(collection, id) { record, _ in
          let bytes = id.bytes.span.bytes
          guard record.isAlive, try filter.accepts(bytes, record) else { return true }
          return try body(bytes, record)
        }
        if goesOn == false { return }
      }
    case .scan(let from, let to):
      try source.forEachRecord(in: collection, from: from, to: to, verify: false) { id, _, record in
        guard record.isAlive, try filter.accepts(id, record) else { return true }
        return try body(id, record)
      }
    case .virtual: return
    }
  }

  /// The documents that UPDATE, DELETE and EVICT concern, in the statement's order.
  package func ids(in source: borrowing some RecordSource & ~Copyable) throws -> [DocumentID] {
    try sortedRows(in: source).compactMap(\.row.id)
  }

  private func count(in source: borrowing some RecordSource & ~Copyable, _ facts: SystemFacts) throws -> Int {
    if case .virtual(let virtual) = access {
      return try matches(in: virtual.documents(in: source, facts)).count
    }
    guard let collection = try source.collection(self.collection) else { return 0 }
    if filter == nil, access == .scan(from: nil, to: nil) {
      return try source.collections().first { $0.id == collection.id }?.documentCount ?? 0
    }
    var count = 0
    try forEachMatch(in: source, collection) { _, _ in
      count += 1
      return true
    }
    return count
  }
}
