package import CRDTCore

/// A range of ids in a collection.
package struct KeyRange: Hashable, Sendable {
  @TextKey package var collection: String
  /// The inclusive lower bound; empty for the first id.
  package var from: [UInt8]
  /// The exclusive upper bound; empty for the last id, inclusive.
  package var to: [UInt8]

  package init(collection: String, from: [UInt8] = [], to: [UInt8] = []) {
    self.collection = collection
    self.from = from
    self.to = to
  }

  /// Whether the range covers the whole collection.
  package var isWhole: Bool { from.isEmpty && to.isEmpty }

  /// Returns whether an id lies within the range.
  package func contains(_ id: [UInt8]) -> Bool {
    !id.lexicographicallyPrecedes(from) && (to.isEmpty || id.lexicographicallyPrecedes(to))
  }

  /// Returns whether another range lies completely within this one.
  func contains(_ other: KeyRange) -> Bool {
    $collection == other.$collection && !other.from.lexicographicallyPrecedes(from)
      && (to.isEmpty || !other.to.isEmpty && !to.lexicographicallyPrecedes(other.to))
  }

  /// Returns the subranges between ascending bounds.
  func subranges(cutAt bounds: [[UInt8]]) -> [KeyRange] {
    zip([from] + bounds, bounds + [to]).map { KeyRange(collection: collection, from: $0, to: $1) }
  }
}

/// The number of documents in a range, and the sum of their hashes.
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

  /// Returns the fingerprint without a part of it.
  func subtracting(_ other: Fingerprint) -> Fingerprint {
    Fingerprint(count: count &- other.count, sum: sum &- other.sum)
  }

  /// Returns the hash of one document: of its state and its id.
  package static func hash(id: RawSpan, summary: Summary) -> UInt64 {
    let lanes = HashLanes(id).combined(with: HashLanes(summary.high, summary.low))
    return lanes.first ^ lanes.second
  }
}
