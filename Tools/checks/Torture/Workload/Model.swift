import CRDTCore
import DocStore

/// What a store should hold: a few lanes, each at some transaction.
struct Model {
  var lanes: [Lane]

  init(seed: UInt64, lanes count: Int, peers: PeerDocuments) {
    lanes = (0..<count).map { Lane($0, seed: seed, peers: peers) }
  }

  /// Brings a lane to its `count`-th transaction, which must not lie behind.
  mutating func advance(_ lane: Int, to count: Int) {
    while lanes[lane].count < count { _ = lanes[lane].next() }
  }

  /// The counter that all lanes share exists from the beginning, before the first lane writes.
  static func prepare(_ store: Store) throws {
    try store.write { tx in
      let (place, id) = (Lane.totals, try DocumentID(Lane.totals.id))
      if let collection = try tx.collection(place.collection), try tx.record(collection, id) != nil { return }
      try tx.upsert(["sum": .counter(0)], id: id, into: place.collection)
    }
  }

  static func isPrepared(_ store: Store) throws -> Bool {
    try store.read { tx in
      guard let collection = try tx.collection(Lane.totals.collection) else { return false }
      return try tx.record(collection, DocumentID(Lane.totals.id)) != nil
    }
  }

  /// All living documents.
  var documents: [Place: [TextKey: Value]] {
    var all: [Place: [TextKey: Value]] = [:]
    for lane in lanes { all.merge(lane.documents) { old, _ in old } }
    all[Lane.totals] = ["sum": .counter(lanes.reduce(0) { $0 + $1.contribution })]
    return all
  }
}
