import CRDTCore
import DocStore
import QueryLanguage
import Synchronization

/// The interest of a peer: for each collection, the union of the peer's queries.
struct Interest {
  /// The queries in encoded form, since compiled queries take far more memory.
  fileprivate(set) var encodings: [[UInt8]] = []
  /// The hash of the interest: equal at all peers for the same queries, in any order.
  fileprivate(set) var hash: UInt64
  fileprivate var collections: [TextKey: CollectionInterest] = [:]
  /// The canonical conditions of the queries, by collection.
  fileprivate var known: [TextKey: Set<[UInt8]>] = [:]
  /// The cost of evaluating a document in the collection with the most expensive conditions.
  ///
  /// The unit is the time of visiting one record.
  fileprivate(set) var visitCost = 1
  /// Approximate size in memory.
  fileprivate(set) var memoryBytes = 0
  private var matchers = Matchers()

  init() { self = InterestBuilder().finish() }

  /// Makes an interest from queries; equivalent queries are evaluated once.
  init(_ queries: [SubscriptionQuery]) {
    var builder = InterestBuilder()
    for query in queries { builder.insert(query) }
    self = builder.finish()
  }

  /// Makes an empty interest for a builder.
  fileprivate init(hash: UInt64) { self.hash = hash }

  var isEmpty: Bool { collections.isEmpty }

  /// The collections that can be synced, in order.
  var names: [String] { collections.keys.sorted().map(\.text).filter(CollectionName.maySync) }

  /// Returns the collections whose conditions differ from those in `other`.
  func names(changedFrom other: Interest) -> Set<TextKey> {
    Set(names.filter { !isSame(as: other, in: $0) }.map { TextKey($0) })
  }

  /// Returns the collections of which `other` asks for something that this interest does not.
  func names(narrowedFrom other: Interest) -> Set<TextKey> {
    Set(other.known.filter { !$1.isSubset(of: known[$0] ?? []) }.keys)
  }

  /// Returns whether both interests have the same conditions for a collection.
  func isSame(as other: Interest, in collection: String) -> Bool {
    known[collection] == other.known[collection]
  }

  func covers(_ collection: String) -> Bool { collections[collection] != nil }

  /// Returns the interest in a collection, resolved for its key table.
  func matcher(for collection: Collection) -> CollectionInterest? {
    guard let interest = collections[collection.name] else { return nil }
    return matchers.matcher(interest, for: collection)
  }

  /// Returns the interest without the documents that a peer with this access may not read.
  ///
  /// It has the same hash: what a peer may read is not part of what it asks for.
  func narrowed(by access: PeerAccess) -> Interest {
    guard access.reading != .everything else { return self }
    var narrowed = self
    for name in collections.keys { narrowed.collections[name]?.rule = access.partialRule(of: name.text) }
    narrowed.matchers = Matchers()
    return narrowed
  }

  /// A cache of resolved interests, shared by copies of an interest.
  private final class Matchers: Sendable {
    private let ready = Mutex<[UInt32: CollectionInterest]>([:])

    func matcher(_ interest: CollectionInterest, for collection: Collection) -> CollectionInterest {
      ready.withLock { ready in
        // Modify the value in place: taking it out and putting it back would copy it.
        ready[collection.id, default: interest].resolve(collection.keys)
        return ready[collection.id, default: interest]
      }
    }
  }
}

/// What a peer subscribes to in one collection.
struct CollectionInterest {
  fileprivate(set) var predicates = PredicateUnion()
  /// The documents that the peer may read; `nil` for all.
  fileprivate(set) var rule: ReadRule?

  mutating func resolve(_ keys: KeyTable) {
    predicates.resolve(keys)
    rule?.resolve(keys)
  }

  /// Whether every living document matches.
  var matchesAll: Bool { rule == nil && predicates.acceptsAll }

  /// Whether a write can hide a document from the peer.
  var canHide: Bool { rule?.dependsOnFields ?? false }

  /// Returns whether the peer may not read a document in this state, which therefore counts as absent.
  func hides(_ id: RawSpan, _ record: borrowing RecordView) -> Bool {
    if let rule { !rule.allows(id, record) } else { false }
  }

  /// Returns whether the peer may not read a document in this state; no state can be read if its fields
  /// decide.
  func hides(_ id: DocumentID, _ record: Record?) -> Bool {
    guard let rule else { return false }
    guard let record else { return rule.dependsOnFields || !rule.mayAllow(id.bytes.span.bytes) }
    return record.withView { !rule.allows(id.bytes.span.bytes, $0) }
  }

  /// Returns whether a document is alive and matches one of the queries, and the peer may read it.
  func matches(_ id: RawSpan, _ record: borrowing RecordView) -> Bool {
    record.isAlive && predicates.accepts(id, record) && !hides(id, record)
  }

  func matches(_ id: DocumentID, _ record: Record?) -> Bool {
    record?.withView { matches(id.bytes.span.bytes, $0) } ?? false
  }

  /// Returns whether a change erases a removed document that matched one of the queries when it was removed.
  ///
  /// A peer that was sent the removal has a tombstone with the content, which the erasure must end, too.
  func matchedErased(_ change: Change) -> Bool {
    guard let before = change.before else { return false }
    let id = change.id.bytes.span.bytes
    let wasRemoved = before.withView { !$0.isAlive && predicates.accepts(id, $0) && !hides(id, $0) }
    return wasRemoved && change.isErasure
  }
}

extension Change {
  /// Whether the document is erased after the change.
  var isErasure: Bool { after?.withView { (try? $0.isErased(sites: sites)) ?? false } ?? false }
}

/// Builds an interest query by query.
///
/// Adding queries one at a time limits peak memory: the union is small compared with the separate queries.
struct InterestBuilder {
  /// Evaluation steps in the time of visiting one record.
  private static let stepsPerVisit = 128

  private var interest = Interest(hash: 0)
  /// The hashes of the encoded queries.
  private var lanes: [HashLanes] = []
  private var steps: [TextKey: Int] = [:]

  /// Approximate size in memory of the interest so far.
  var memoryBytes: Int { interest.memoryBytes }

  /// Adds a query.
  ///
  /// - Returns: How many steps one evaluation of its conditions takes; 0 for a duplicate.
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

  /// Returns the interest in all queries that were inserted.
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
