/// How many more entries a walk over a record may meet.
///
/// Each entry has bytes of its own, so a walk that meets more than fit is in a damaged record whose
/// maps share nodes, and could take for ever.
struct EntryBudget {
  private var left: Int

  /// `walks` is how often a walk may come by each entry.
  init(_ record: RawSpan, walks: Int = 1) { left = record.byteCount / 10 * walks }

  mutating func spend(on map: borrowing MapNode) throws(CodecError) {
    left -= map.count
    guard left >= 0 else { throw CodecError(.malformed, "maps of a record overlap", at: map.offset) }
  }
}
