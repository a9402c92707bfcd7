/// A document's whole CRDT state, or the part of it that a delta carries.
///
/// Join is the pointwise maximum by stamp: commutative, associative, idempotent and total. Records
/// and wire documents are this state in other clothes.
package struct DocumentState: Hashable, Sendable {
  /// The document's fields; the root has neither register nor floor of its own.
  var root = Node()
  var vector = VersionVector()
  /// When the document was last written alive or deleted.
  var life: Stamp
  var isAlive: Bool
  /// The writer of the life, for the wire; its birth is zero for default data, and for a deletion that is known
  /// from a death certificate alone.
  var lifeBirth: ClockReading
  /// The document's floor: entries at or under it do not exist.
  var floor: Stamp = .zero
  /// The birth of this store's own writer since the store holds the document, in this opening or a former one.
  var ownBirth: ClockReading?
  /// What a receiver of this delta must already include; empty for a whole document.
  var base = VersionVector()

  init(life: Stamp, lifeBirth: ClockReading, isAlive: Bool) {
    self.life = life
    self.lifeBirth = lifeBirth
    self.isAlive = isAlive
  }

  /// Whether the life is a death whose writer is not known.
  var isLifeBare: Bool { lifeBirth == .zero && life.reading > .zero }

  /// When a deleted document died: what its death certificate keeps.
  package var death: Stamp { life }

  mutating func prune() { root.pruneChildren(under: floor) }
}
