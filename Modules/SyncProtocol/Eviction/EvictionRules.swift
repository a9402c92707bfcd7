import CRDTCore
import DocStore
import QueryLanguage

/// The subscriptions of a store, as far as they decide which documents stay.
struct EvictionRules: Sendable {
  private struct Rules: Sendable {
    var all = PredicateUnion()
    /// The queries that keep documents that no longer match.
    var keeping = PredicateUnion()
    /// Hashes of the queries, ascending; they are the same after a restart.
    var names: [UInt64] = []
  }

  private var collections: [TextKey: Rules] = [:]
  /// Whether the application has set the subscriptions, even if there are none.
  private(set) var areKnown = false
  /// Whether any query evicts documents that no longer match.
  private(set) var evictsAny = false

  init() {}

  init(_ queries: [SubscriptionQuery], evicting: Set<SubscriptionQuery>) {
    areKnown = true
    for query in queries {
      var out = ByteWriter()
      query.encode(to: &out)
      collections[query.collection, default: Rules()].all.insert(query.compiled)
      collections[query.collection]?.names.append(HashLanes(out.bytes.span.bytes).first)
      if evicting.contains(query) {
        evictsAny = true
      } else {
        collections[query.collection]?.keeping.insert(query.compiled)
      }
    }
    for name in collections.keys { collections[name]?.names.sort() }
  }

  func covers(_ collection: String) -> Bool { collections[collection] != nil }

  /// Returns the hashes of a collection's queries.
  func names(of collection: String) -> [UInt64] { collections[collection]?.names ?? [] }

  /// Prepares the queries for records with the keys of a collection.
  mutating func resolve(_ collection: Collection) {
    collections[collection.name]?.all.resolve(collection.keys)
    collections[collection.name]?.keeping.resolve(collection.keys)
  }

  /// Returns whether a document is alive and matches a query.
  func match(_ collection: String, _ id: RawSpan, _ record: borrowing RecordView) -> Bool {
    guard record.isAlive, let rules = collections[collection] else { return false }
    return rules.all.accepts(id, record)
  }

  /// Returns whether a document with this state is evicted once it matches no query.
  func letGo(of collection: String, _ id: RawSpan, _ record: borrowing RecordView) -> Bool {
    guard record.isAlive, let rules = collections[collection] else { return false }
    return rules.all.accepts(id, record) && !rules.keeping.accepts(id, record)
  }
}
