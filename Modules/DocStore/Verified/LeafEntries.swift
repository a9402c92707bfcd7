import CRDTCore

/// The checks of entries on leaf pages, by table.
enum LeafEntries {
  /// Whether an entry is as it was written, as far as the entry alone shows it.
  @inline(__always)
  static func isWhole(_ key: RawSpan, _ value: RawSpan, in table: StoreTable) -> Bool {
    switch table {
    case .documents:
      guard let place = DocumentPlace(key), let row = DocumentRow(value, number: place.number) else {
        return false
      }
      return row.verify(in: place.collection)
    case .rows: return IndexRow(key: key, value: value) != nil
    case .ids, .recent: return IDKey.parse(key) != nil && DocumentNumber(value) != nil
    // These are checked when they are read.
    case .list, .freeList: return true
    default: return SmallRecord.isIntact(value, at: key)
    }
  }
}
