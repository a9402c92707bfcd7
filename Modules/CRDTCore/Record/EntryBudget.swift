/// How many more entries a walk over a record may meet.
///
/// Each entry has bytes of its own, so a walk that meets more than fit is in a damaged record whose
/// maps share nodes, and could take for ever.
struct EntryBudget {
  private var left: Int

  /// `walks` is how often a walk may come by each entry.
  @inline(__always)
  init(_ record: RawSpan, walks: Int = 1) { left = record.byteCount / 10 * walks }

  /// Takes that many entries off; `false` when there were fewer left.
  @inline(__always)
  mutating func take(_ entries: Int) -> Bool {
    left &-= entries
    return left >= 0
  }

  mutating func spend(on map: borrowing MapNode) throws(CodecError) {
    guard take(map.count) else { throw CodecError(.malformed, "maps of a record overlap", at: map.offset) }
  }
}
