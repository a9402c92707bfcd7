public import CRDTCore
import DocStore
public import QueryEngine

/// Selects the documents for a reader of changes: those that match any of its queries.
public struct FeedFilter: Sendable {
  /// The greatest number of queries.
  public static let queryLimit = 16

  /// The queries, each of one collection.
  public let queries: [SubscriptionQuery]

  /// Makes a filter of queries, each of one collection.
  ///
  /// - Throws: `argument` for no queries, `limit` for too many.
  public init(_ queries: [SubscriptionQuery]) throws(FeedError) {
    guard !queries.isEmpty else { throw FeedError(.argument, "a change feed needs a query") }
    guard queries.count <= Self.queryLimit else {
      throw FeedError(
        .limit, "a change feed takes at most \(Self.queryLimit) queries, and \(queries.count) are given")
    }
    self.queries = queries
  }

  /// Makes a filter of DQL statements, as a subscription has them: `SELECT * FROM cars WHERE …`.
  ///
  /// - Throws: The codes of queries; `argument`, `limit`.
  public init(dql statements: [String], arguments: [TextKey: Value] = [:]) throws {
    try self.init(statements.map { try SubscriptionQuery(dql: $0, arguments: arguments) })
  }
}

/// Checks whether documents match, collection by collection.
struct FeedMatcher {
  /// What a reader wants of one collection.
  struct Part {
    let name: String
    fileprivate let queries: [SubscriptionQuery]
    fileprivate var matchers: [RecordMatcher]
    fileprivate(set) var keys: KeyTable

    /// The fields of a record that matches; `nil` for other records.
    func fields(_ id: DocumentID, _ record: borrowing RecordView) throws -> [TextKey: Value]? {
      guard record.isAlive else { return nil }
      guard isMatch(id, record) else { return nil }
      var fields = try record.fields(keys)
      fields["_id"] = id.value
      return fields
    }

    private func isMatch(_ id: DocumentID, _ record: borrowing RecordView) -> Bool {
      for matcher in matchers where matcher.matches(id.bytes.span.bytes, record) { return true }
      return false
    }

    /// Returns whether a document with this id can match, whatever its other fields are.
    func admits(_ id: DocumentID) -> Bool { queries.contains { $0.unmetConditions(of: id).isEmpty } }
  }

  private let queries: [TextKey: [SubscriptionQuery]]
  /// The parts by the collection's number; `nil` for a collection that no query names.
  private var parts: [UInt32: Part?] = [:]

  init(_ filter: FeedFilter) { queries = Dictionary(grouping: filter.queries) { TextKey($0.collection) } }

  /// What the reader wants of a collection; `nil` if that is nothing.
  mutating func part(of collection: Collection) -> Part? {
    if let known = parts[collection.id], known?.keys.count ?? collection.keys.count == collection.keys.count {
      return known
    }
    guard let wanted = queries[TextKey(collection.name)] else {
      parts[collection.id] = .some(nil)
      return nil
    }
    var matchers = wanted.map(\.matcher)
    for index in matchers.indices { matchers[index].resolve(collection.keys) }
    let part = Part(name: collection.name, queries: wanted, matchers: matchers, keys: collection.keys)
    parts[collection.id] = part
    return part
  }
}
