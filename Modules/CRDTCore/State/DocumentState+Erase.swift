extension DocumentState {
  /// Whether nothing of the document exists but the time of its erasure, and what was written after it.
  ///
  /// An erasure is a deletion that raises the document's floor to its own stamp. An ordinary deletion is
  /// above every floor.
  package var isErased: Bool { !isAlive && life.reading > .zero && floor >= life }

  /// Deletes the document, known or not, and ends everything that was written before, at every replica.
  ///
  /// The writer of the deletion is not kept: nothing but its stamp remains.
  ///
  /// - Complexity: O(*n*) in the entries.
  mutating func erase(_ stamping: Stamping) {
    let seen = max(vector.latest, life.reading, floor.reading)
    life = Stamp(reading: stamping.reading(after: seen), site: stamping.site)
    isAlive = false
    floor = life
    ownBirth = nil
    prune()
    dropErased()
  }

  /// Drops from an erased document's vector what the floor covers.
  ///
  /// The vector then claims less. What other replicas send again for that is at or below the floor, so it
  /// does not exist.
  mutating func dropErased() {
    guard isErased else { return }
    lifeBirth = .zero
    vector.drop(through: floor)
    if let ownBirth, !vector.elements.contains(where: { $0.writer.birth == ownBirth }) { self.ownBirth = nil }
  }
}
