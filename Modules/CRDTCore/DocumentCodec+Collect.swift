/// What collecting a record's removals came to.
package enum CollectOutcome: Sendable {
  /// Nothing in it is old enough.
  case unchanged
  /// The record without its old removals; readers, peers and the summary see no difference.
  case changed(EncodedDocument)
  /// The document was deleted so long ago that a death certificate of this stamp may take its place.
  case certifiable(Certifiable)

  package struct Certifiable: Hashable, Sendable {
    package var life: Stamp
    /// Whether something in it was written after the deletion, by a site that did not know of it: what
    /// is to be reported when it goes.
    package var hasLaterWrites: Bool
  }
}

extension DocumentCodec {
  /// Collects removals older than `horizon` from a record; never a write, and never seen by a peer.
  ///
  /// - Complexity: O(1) for a document without removals and floors, else O(*n*) in the record.
  package static func collect(
    before horizon: ClockReading, existing: StoredDocument, own site: SiteID, tables: inout RecordTables
  ) throws(CodecError) -> CollectOutcome {
    let view = RecordView(existing.record)
    if view.isAlive, try !hasRemovals(view) { return .unchanged }
    var state = try DocumentState(view, own: site, tables: tables)
    if !state.isAlive {
      guard let life = state.certificate(before: horizon) else { return .unchanged }
      let hasLaterWrites = state.vector.latest > life.reading
      return .certifiable(.init(life: life, hasLaterWrites: hasLaterWrites))
    }
    guard state.collect(before: horizon) else { return .unchanged }
    return .changed(StateEncoder.encode(state, own: site, tables: &tables))
  }

  /// Whether the record holds registers that no reader sees, or floors.
  fileprivate static func hasRemovals(_ view: borrowing RecordView) throws(CodecError) -> Bool {
    guard !view.isFresh else { return false }
    var reader = ByteReader(view.metadata)
    let parts = RecordMetadata.Parts(rawValue: try reader.readByte())
    return !parts.isDisjoint(with: [.hidden, .floors])
  }
}

extension RecordView {
  /// Whether there is something in the record that is forgotten in time: the document is deleted, or fields are.
  ///
  /// - Complexity: O(1).
  package var isForgettable: Bool {
    guard isAlive else { return true }
    do throws(CodecError) { return try DocumentCodec.hasRemovals(self) } catch { return false }
  }
}
