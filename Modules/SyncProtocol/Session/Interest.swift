import CRDTCore
import DocStore
import QueryEngine

/// What a peer subscribes to: the union of its queries, collection by collection.
struct Interest {
  /// Steps of an evaluation in the time of visiting a record.
  private static let stepsPerVisit = 128

  let queries: [SubscriptionQuery]
  /// Names it: the same for the same queries in any order, at every peer.
  let hash: UInt64
  private var collections: [TextKey: CollectionInterest] = [:]
  /// The queries of each collection, by what they select.
  private let known: [TextKey: Set<CompiledPredicate>]
  /// What looking at a document of the collection with the dearest conditions costs, in records that could be visited in the
  /// same time.
  let visitCost: Int

  init() { self.init([]) }

  /// Takes queries; of those that ask for the same in different words one is asked.
  init(_ queries: [SubscriptionQuery]) {
    self.queries = queries
    hash = Self.hash(queries)
    var known: [TextKey: Set<CompiledPredicate>] = [:]
    var steps: [TextKey: Int] = [:]
    for query in queries where known[query.collection, default: []].insert(query.compiled).inserted {
      collections[query.collection, default: CollectionInterest()].predicates.insert(query.compiled)
      steps[query.collection, default: 0] += query.compiled.evaluationSteps
    }
    self.known = known
    visitCost = 1 + (steps.values.max() ?? 0) / Self.stepsPerVisit
  }

  private static func hash(_ queries: [SubscriptionQuery]) -> UInt64 {
    let encoded = queries.map { query in
      var out = ByteWriter()
      query.encode(to: &out)
      return out.bytes
    }
    var lanes = HashLanes("interest", seed: 1)
    var previous: [UInt8]?
    for bytes in encoded.sorted(by: { $0.lexicographicallyPrecedes($1) }) where bytes != previous {
      lanes = lanes.combined(with: HashLanes(bytes.span.bytes))
      previous = bytes
    }
    return lanes.first
  }

  var isEmpty: Bool { collections.isEmpty }

  /// The collections of all queries that can be synced, in order.
  var names: [String] { collections.keys.sorted().map(\.text).filter(CollectionName.maySync) }

  /// The collections of which something else is asked for than in another interest.
  func names(changedFrom other: Interest) -> Set<TextKey> {
    Set(names.filter { !isSame(as: other, in: $0) }.map { TextKey($0) })
  }

  /// The collections of which some is not asked for any more that another interest asks for.
  func names(narrowedFrom other: Interest) -> Set<TextKey> {
    Set(other.known.filter { !$1.isSubset(of: known[$0] ?? []) }.keys)
  }

  /// Whether the same of a collection is asked for as in another interest.
  func isSame(as other: Interest, in collection: String) -> Bool {
    known[collection] == other.known[collection]
  }

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

  /// Whether every document that lives is of interest.
  var matchesAll: Bool { predicates.acceptsAll }

  /// Whether a document lives and satisfies one of the queries.
  func matches(_ id: RawSpan, _ record: borrowing RecordView) -> Bool {
    record.isAlive && predicates.accepts(id, record)
  }

  func matches(_ id: DocumentID, _ record: Record?) -> Bool {
    record?.withView { matches(id.bytes.span.bytes, $0) } ?? false
  }
}
