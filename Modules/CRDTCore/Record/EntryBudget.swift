/// The number of further entries that a walk over a record may meet.
///
/// Each entry has bytes of its own. A walk that meets more entries than fit is in a damaged record whose maps
/// share nodes, and might never end.
struct EntryBudget {
  private var left: Int

  /// Makes a budget; `walks` is how often a walk may visit each entry.
  @inline(__always)
  init(_ record: RawSpan, walks: Int = 1) { left = record.byteCount / 10 * walks }

  /// Subtracts a number of entries; returns `false` if fewer were left.
  @inline(__always)
  mutating func take(_ entries: Int) -> Bool {
    left &-= entries
    return left >= 0
  }

  mutating func spend(on map: borrowing MapNode) throws(CodecError) {
    guard take(map.count) else { throw CodecError(.malformed, "maps of a record overlap", at: map.offset) }
  }
}
