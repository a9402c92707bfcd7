import CRDTCore
import DocStore
import QueryEngine
import Synchronization

/// What a peer subscribes to: the union of its queries, collection by collection.
struct Interest {
  /// The queries it was made of, as they travel: taken apart they take far more memory than what is made of them.
  fileprivate(set) var encodings: [[UInt8]] = []
  /// Names it: the same for the same queries in any order, at every peer.
  fileprivate(set) var hash: UInt64
  fileprivate var collections: [TextKey: CollectionInterest] = [:]
  /// What the queries of each collection select, in the canonical form.
  fileprivate var known: [TextKey: Set<[UInt8]>] = [:]
  /// What looking at a document of the collection with the dearest conditions costs, in records that could be visited in the
  /// same time.
  fileprivate(set) var visitCost = 1
  /// About what it takes in memory.
  fileprivate(set) var memoryBytes = 0
  private var matchers = Matchers()

  init() { self = InterestBuilder().finish() }

  /// Takes queries; of those that ask for the same in different words one is asked.
  init(_ queries: [SubscriptionQuery]) {
    var builder = InterestBuilder()
    for query in queries { builder.insert(query) }
    self = builder.finish()
  }

  /// The interest of a builder that has yet to be told of any query.
  fileprivate init(hash: UInt64) { self.hash = hash }

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
  func matcher(for collection: Collection) -> CollectionInterest? {
    guard let interest = collections[collection.name] else { return nil }
    return matchers.matcher(interest, for: collection)
  }

  /// What was made ready for records, kept for the next ones; copies of an interest share it.
  private final class Matchers: Sendable {
    private let ready = Mutex<[UInt32: CollectionInterest]>([:])

    func matcher(_ interest: CollectionInterest, for collection: Collection) -> CollectionInterest {
      ready.withLock { ready in
        // Changed where it stands: taken out and put back, it would be copied.
        ready[collection.id, default: interest].resolve(collection.keys)
        return ready[collection.id, default: interest]
      }
    }
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

/// Makes an interest of queries, one after the other: what is made of all together is little beside what each becomes.
struct InterestBuilder {
  /// Steps of an evaluation in the time of visiting a record.
  private static let stepsPerVisit = 128

  private var interest = Interest(hash: 0)
  /// The hashes of the encodings.
  private var lanes: [HashLanes] = []
  private var steps: [TextKey: Int] = [:]

  /// About what the interest takes in memory as far as it is made.
  var memoryBytes: Int { interest.memoryBytes }

  /// - Returns: How many steps an evaluation of its conditions takes.
  /// - Complexity: O(*n* log *n*) in the query's bytes.
  @discardableResult
  mutating func insert(_ query: SubscriptionQuery) -> Int {
    var out = ByteWriter()
    query.encode(to: &out)
    interest.encodings.append(out.bytes)
    lanes.append(HashLanes(out.bytes.span.bytes))
    interest.memoryBytes += out.count + 64
    let isNew = interest.known[query.collection, default: []].insert(query.compiled.bytes).inserted
    guard isNew else { return 0 }
    let steps = query.compiled.evaluationSteps
    interest.collections[query.collection, default: CollectionInterest()].predicates.insert(query.compiled)
    self.steps[query.collection, default: 0] += steps
    interest.memoryBytes += query.compiled.servedBytes
    return steps
  }

  /// The interest in all that was inserted.
  ///
  /// - Complexity: O(*n* log *n*) in the queries.
  func finish() -> Interest {
    var interest = interest
    var whole = HashLanes("interest", seed: 1)
    var previous: [UInt8]?
    let sorted = zip(interest.encodings, lanes).sorted { $0.0.lexicographicallyPrecedes($1.0) }
    for (bytes, own) in sorted where bytes != previous {
      whole = whole.combined(with: own)
      previous = bytes
    }
    interest.hash = whole.first
    interest.visitCost = 1 + (steps.values.max() ?? 0) / Self.stepsPerVisit
    return interest
  }
}
