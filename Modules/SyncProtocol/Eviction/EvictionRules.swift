import CRDTCore
import DocStore
import QueryEngine

/// What a peer subscribes to, as far as it decides which documents stay.
struct EvictionRules: Sendable {
  private struct Rules: Sendable {
    var all = PredicateUnion()
    /// Those whose documents are kept when they leave.
    var keeping = PredicateUnion()
    /// Names of the queries that are the same after a restart, ascending.
    var names: [UInt64] = []
  }

  private var collections: [TextKey: Rules] = [:]
  /// Whether anybody has said what the store subscribes to, if only that it is nothing.
  private(set) var areKnown = false
  /// Whether any query lets go of what leaves it.
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

  /// The names of the queries of a collection.
  func names(of collection: String) -> [UInt64] { collections[collection]?.names ?? [] }

  /// Prepares for records that a collection's keys can read.
  mutating func resolve(_ collection: Collection) {
    collections[collection.name]?.all.resolve(collection.keys)
    collections[collection.name]?.keeping.resolve(collection.keys)
  }

  /// Whether a document lives and satisfies one of the queries.
  func match(_ collection: String, _ id: RawSpan, _ record: borrowing RecordView) -> Bool {
    guard record.isAlive, let rules = collections[collection] else { return false }
    return rules.all.accepts(id, record)
  }

  /// Whether a document that satisfied queries in this state goes when it satisfies none.
  func letGo(of collection: String, _ id: RawSpan, _ record: borrowing RecordView) -> Bool {
    guard record.isAlive, let rules = collections[collection] else { return false }
    return rules.all.accepts(id, record) && !rules.keeping.accepts(id, record)
  }
}
