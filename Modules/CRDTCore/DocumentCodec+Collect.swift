/// The result of collecting the old removals of a record.
package enum CollectOutcome: Sendable {
  /// Nothing in the record is old enough.
  case unchanged
  /// The record without its old removals; readers, peers and the summary see no difference.
  case changed(EncodedDocument)
  /// A compacted tombstone of this stamp and this floor may replace the document, which was deleted long
  /// enough ago.
  case certifiable(Certifiable)

  package struct Certifiable: Hashable, Sendable {
    package var life: Stamp
    /// The document's floor, which the compacted tombstone must keep; zero if it has none.
    package var floor: Stamp
    /// Whether a site wrote to the document after the deletion, without knowing of it.
    ///
    /// Such writes are reported when the document is compacted.
    package var hasLaterWrites: Bool
  }
}

extension DocumentCodec {
  /// Collects the removals older than `horizon` from a record.
  ///
  /// This is not a write, and peers do not see it.
  ///
  /// - Complexity: O(1) for a document without removals and floors, otherwise O(*n*) in the record.
  package static func collect(
    before horizon: ClockReading, existing: StoredDocument, own site: SiteID, tables: inout RecordTables
  ) throws(CodecError) -> CollectOutcome {
    let view = RecordView(existing.record)
    if view.isAlive, try !hasRemovals(view) { return .unchanged }
    var state = try DocumentState(view, own: site, tables: tables)
    if !state.isAlive {
      guard let life = state.certificate(before: horizon) else { return .unchanged }
      let hasLaterWrites = state.vector.latest > life.reading
      return .certifiable(.init(life: life, floor: state.floor, hasLaterWrites: hasLaterWrites))
    }
    guard state.collect(before: horizon) else { return .unchanged }
    return .changed(StateEncoder.encode(state, own: site, tables: &tables))
  }

  /// Whether the record holds floors, or registers that no reader sees.
  fileprivate static func hasRemovals(_ view: borrowing RecordView) throws(CodecError) -> Bool {
    guard !view.isFresh else { return false }
    var reader = ByteReader(view.metadata)
    let parts = RecordMetadata.Parts(rawValue: try reader.readByte())
    return !parts.isDisjoint(with: [.hidden, .floors])
  }
}

extension RecordView {
  /// Whether a later collection can remove something: the document is deleted, or fields are.
  ///
  /// - Complexity: O(1).
  package var isForgettable: Bool {
    guard isAlive else { return true }
    do throws(CodecError) { return try DocumentCodec.hasRemovals(self) } catch { return false }
  }
}
