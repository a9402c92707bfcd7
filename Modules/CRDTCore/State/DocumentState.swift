/// A document's whole CRDT state, or the part of it that a delta carries.
///
/// Join is the pointwise maximum by stamp: commutative, associative, idempotent and total. Records and wire
/// documents are encodings of this state.
package struct DocumentState: Hashable, Sendable {
  /// The document's fields; the root has neither register nor floor of its own.
  var root = Node()
  var vector = VersionVector()
  /// The stamp of the last write that made the document alive or deleted it.
  var life: Stamp
  var isAlive: Bool
  /// The birth of the writer of the life, for the wire.
  ///
  /// It is zero for default data, and for a deletion that is known only from a compacted tombstone.
  var lifeBirth: ClockReading
  /// The document's floor: entries at or below it do not exist.
  var floor: Stamp = .zero
  /// The birth of this store's own writer of the document, from this opening of the store or an earlier one.
  var ownBirth: ClockReading?
  /// The version vector that a receiver of this delta must already include; empty for a full state.
  var base = VersionVector()

  init(life: Stamp, lifeBirth: ClockReading, isAlive: Bool) {
    self.life = life
    self.lifeBirth = lifeBirth
    self.isAlive = isAlive
  }

  /// Whether the life is a deletion whose writer is not known.
  var isLifeBare: Bool { lifeBirth == .zero && life.reading > .zero }

  /// The stamp of a deleted document's removal, which its compacted tombstone keeps.
  package var death: Stamp { life }

  mutating func prune() { root.pruneChildren(under: floor) }
}
