import CRDTCore
import DocStore
import QueryEngine

/// What a peer subscribes to: the union of its queries, collection by collection.
struct Interest {
  let queries: [SubscriptionQuery]
  private var collections: [String: CollectionInterest] = [:]

  init() { queries = [] }

  /// Takes queries; of those that ask for the same in different words one is asked.
  init(_ queries: [SubscriptionQuery]) {
    self.queries = queries
    var known: [String: Set<CompiledPredicate>] = [:]
    for query in queries where known[query.collection, default: []].insert(query.compiled).inserted {
      collections[query.collection, default: CollectionInterest()].predicates.insert(query.compiled)
    }
  }

  var isEmpty: Bool { collections.isEmpty }

  /// The collections of all queries that can be synced, in order.
  var names: [String] { collections.keys.filter(CollectionName.maySync).sorted() }

  func covers(_ collection: String) -> Bool { collections[collection] != nil }

  /// What of a collection is of interest, ready for records that `collection`'s keys can read.
  mutating func matcher(for collection: Collection) -> CollectionInterest? {
    guard collections[collection.name] != nil else { return nil }
    collections[collection.name]?.resolve(collection.keys)
    return collections[collection.name]
  }
}

/// What a peer subscribes to in one collection.
struct CollectionInterest {
  fileprivate(set) var predicates = PredicateUnion()

  mutating func resolve(_ keys: KeyTable) { predicates.resolve(keys) }

  /// Whether a document lives and satisfies one of the queries.
  func matches(_ id: RawSpan, _ record: borrowing RecordView) -> Bool {
    record.isAlive && predicates.accepts(id, record)
  }

  func matches(_ id: DocumentID, _ record: Record?) -> Bool {
    record?.withView { matches(id.bytes.span.bytes, $0) } ?? false
  }
}
