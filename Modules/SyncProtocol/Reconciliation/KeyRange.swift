package import CRDTCore

/// A part of a collection: the ids from one bound up to another.
package struct KeyRange: Hashable, Sendable {
  @TextKey package var collection: String
  /// Inclusive; empty means from the first id.
  package var from: [UInt8]
  /// Exclusive; empty means through the last id.
  package var to: [UInt8]

  package init(collection: String, from: [UInt8] = [], to: [UInt8] = []) {
    self.collection = collection
    self.from = from
    self.to = to
  }

  /// Whether it is all of the collection.
  package var isWhole: Bool { from.isEmpty && to.isEmpty }

  /// Whether an id lies inside.
  package func contains(_ id: [UInt8]) -> Bool {
    !id.lexicographicallyPrecedes(from) && (to.isEmpty || id.lexicographicallyPrecedes(to))
  }

  /// Whether all of another range lies inside.
  func contains(_ other: KeyRange) -> Bool {
    $collection == other.$collection && !other.from.lexicographicallyPrecedes(from)
      && (to.isEmpty || !other.to.isEmpty && !to.lexicographicallyPrecedes(other.to))
  }

  /// The parts between bounds that rise.
  func parts(cutAt bounds: [[UInt8]]) -> [KeyRange] {
    zip([from] + bounds, bounds + [to]).map { KeyRange(collection: collection, from: $0, to: $1) }
  }
}

/// How many documents a range holds, and the sum of their hashes.
package struct Fingerprint: Hashable, Sendable {
  package var count: UInt64 = 0
  package var sum: UInt64 = 0

  package init(count: UInt64 = 0, sum: UInt64 = 0) {
    self.count = count
    self.sum = sum
  }

  package mutating func add(_ hash: UInt64) {
    count &+= 1
    sum &+= hash
  }

  /// What is left without a part of it.
  func subtracting(_ part: Fingerprint) -> Fingerprint {
    Fingerprint(count: count &- part.count, sum: sum &- part.sum)
  }

  /// What stands for one document in a sum: its state, tied to its id.
  package static func hash(id: RawSpan, summary: Summary) -> UInt64 {
    let lanes = HashLanes(id).combined(with: HashLanes(summary.high, summary.low))
    return lanes.first ^ lanes.second
  }
}
