import CRDTCore
import DocStore
import TestKit

/// Where a document is kept.
struct Place: Hashable, Sendable {
  let collection: String
  let id: String
}

/// One statement of a transaction.
enum Operation {
  case upsert(Place, [TextKey: Value])
  case update(Place, [Edit])
  case remove(Place)
  case evict(Place)
  case merge(Place, [UInt8])
}

/// One writer's own documents and transactions: the n-th transaction is a function of seed, lane and n.
///
/// So a checker that finds how many of a lane's transactions are in a store knows everything else that must
/// be there, to the last field.
struct Lane {
  let number: Int
  private let seed: UInt64
  private let peers: PeerDocuments
  /// Transactions that are part of ``documents``.
  private(set) var count = 0
  private(set) var documents: [Place: [TextKey: Value]] = [:]
  /// The lane's part in the counter that all lanes share.
  private(set) var contribution: Int64 = 0

  static let collections = ["boats", "cars", "planes"]
  /// Where each lane keeps the number of its last transaction.
  static let progress = "lanes"
  static let totals = Place(collection: "totals", id: "all")
  private static let slots = 6

  init(_ number: Int, seed: UInt64, peers: PeerDocuments) {
    self.number = number
    self.seed = seed
    self.peers = peers
  }

  static func progressPlace(_ number: Int) -> Place { Place(collection: progress, id: "lane-\(number)") }

  /// The next transaction, which then is part of ``documents``.
  mutating func next() -> [Operation] {
    count += 1
    var random = SeededGenerator(seed: seed, number, count)
    var operations: [Operation] = []
    let progress = Self.progressPlace(number)
    upsert(progress, ["n": .int(Int64(count))], &operations)
    var touched: Set<Place> = [progress]
    for _ in 0..<(1 + random.int(below: 4)) {
      let place = Place(
        collection: Self.collections[random.int(below: Self.collections.count)],
        id: "\(number)-\(random.int(below: Self.slots))")
      if touched.insert(place).inserted { write(place, &random, &operations) }
    }
    if random.oneIn(2) {
      let amount = Int64(random.int(below: 9)) - 2
      contribution += amount
      operations.append(.update(Self.totals, [.increment(["sum"], amount)]))
    }
    mergePeers(&operations)
    return operations
  }

  /// Some write to one of the lane's documents.
  private mutating func write(
    _ place: Place, _ random: inout SeededGenerator, _ operations: inout [Operation]
  ) {
    guard documents[place] != nil, !random.oneIn(3) else {
      let fields = fields(&random)
      return upsert(place, fields, &operations)
    }
    switch random.int(below: 5) {
    case 0:
      documents[place] = nil
      operations.append(.remove(place))
    case 1:
      documents[place] = nil
      operations.append(.evict(place))
    case 2:
      documents[place]?["text"] = nil
      documents[place]?["n"] = .int(Int64(count))
      operations.append(.update(place, [.set(["n"], .int(Int64(count))), .remove(["text"])]))
    case 3:
      let value = Value.string(random.text(random.int(below: 60)))
      var nested: [TextKey: Value] = [:]
      if case .map(let known)? = documents[place]?["nested"] { nested = known }
      nested["lane"] = value
      documents[place]?["nested"] = .map(nested)
      operations.append(.update(place, [.set(["nested", "lane"], value)]))
    default:
      var sum: Int64 = 0
      if case .counter(let known)? = documents[place]?["hits"] { sum = known }
      documents[place]?["hits"] = .counter(sum + 3)
      operations.append(.update(place, [.increment(["hits"], 3)]))
    }
  }

  private mutating func upsert(_ place: Place, _ fields: [TextKey: Value], _ operations: inout [Operation]) {
    documents[place, default: [:]].merge(fields) { _, new in new }
    operations.append(.upsert(place, fields))
  }

  private func fields(_ random: inout SeededGenerator) -> [TextKey: Value] {
    var fields: [TextKey: Value] = [
      "n": .int(Int64(count)), "text": .string(random.text(random.int(below: 400))),
    ]
    // Beyond a page, so that the engine gives it pages of its own.
    if random.oneIn(8) { fields["blob"] = .bytes(Array(random.text(2_000 + random.int(below: 9_000)).utf8)) }
    if random.oneIn(3) { fields["list"] = .array([.int(Int64(count)), .bool(true), .null]) }
    return fields
  }

  /// A document of a peer comes whole, is brought up to date by a delta later, and leaves.
  private mutating func mergePeers(_ operations: inout [Operation]) {
    func place(_ number: Int) -> Place { Place(collection: "peers", id: "\(self.number)-\(number)") }
    func index(_ count: Int) -> Int { count % PeerDocuments.count }
    let arriving = peers.documents[index(count)]
    documents[place(index(count))] = arriving.fields
    operations.append(.merge(place(index(count)), arriving.whole))
    if count > 4 {
      let later = peers.documents[index(count - 4)]
      documents[place(index(count - 4))] = later.laterFields
      operations.append(.merge(place(index(count - 4)), later.delta))
    }
    if count > 9 {
      documents[place(index(count - 9))] = nil
      operations.append(.evict(place(index(count - 9))))
    }
  }
}

extension WriteTransaction {
  /// Runs one statement.
  func perform(_ operation: Operation) throws {
    switch operation {
    case .upsert(let place, let fields):
      try upsert(fields, id: DocumentID(place.id), into: place.collection)
    case .update(let place, let edits):
      guard try update(DocumentID(place.id), in: place.collection, edits) || place == Lane.totals else {
        throw Failure(.torn, "\(place) could not be updated")
      }
    case .remove(let place):
      guard try remove(DocumentID(place.id), in: place.collection) else {
        throw Failure(.torn, "\(place) could not be removed")
      }
    case .evict(let place):
      guard try evict(DocumentID(place.id), in: place.collection) else {
        throw Failure(.torn, "\(place) could not be evicted")
      }
    case .merge(let place, let wire):
      let id = try DocumentID(place.id)
      guard try merge(wire: wire.span.bytes, id: id, in: place.collection) == .changed else {
        throw Failure(.torn, "\(place) could not be merged")
      }
    }
  }
}
