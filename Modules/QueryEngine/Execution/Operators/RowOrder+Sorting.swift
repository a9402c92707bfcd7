extension RowOrder {
  /// The rows in order.
  ///
  /// It sorts one number for each row. The numbers alone order most rows, so that few comparisons read
  /// values, and no row moves before its position is known.
  func sorted(_ rows: consuming [SortedRow]) -> [SortedRow] {
    let rows = rows
    guard let isDescending = isDescending.first else { return rows.sorted { precedes($0, $1) } }
    var places = rows.indices.map { index in
      let prefix = SortOrder.prefix(rows[index].keys[0])
      return (prefix: isDescending ? ~prefix : prefix, index: index)
    }
    places.sort { left, right in
      left.prefix != right.prefix ? left.prefix < right.prefix : precedes(rows[left.index], rows[right.index])
    }
    return places.map { rows[$0.index] }
  }
}
