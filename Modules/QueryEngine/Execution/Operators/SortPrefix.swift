package import CRDTCore

extension RowOrder {
  /// The rows in order.
  ///
  /// What is sorted is one number for each row that orders most rows alone, so that few comparisons look at
  /// values and no row moves before its place is known.
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

extension SortOrder {
  /// The beginning of a value as a number: where the numbers of two values differ, they order the values.
  package static func prefix(_ value: Value?) -> UInt64 {
    UInt64(Class(value).rawValue) << 60 | beginning(value) >> 4
  }

  private static func beginning(_ value: Value?) -> UInt64 {
    switch value {
    case .bool(let flag): flag ? .max : 0
    case .int(let number), .counter(let number): beginning(Double(number))
    case .double(let number): beginning(number)
    case .string(let string): beginning(string.utf8)
    case .bytes(let bytes): beginning(bytes)
    case .array, .map, .attachment, .null, nil: 0
    }
  }

  /// A double's bits in the order of doubles; both zeros are one, and NaN comes first.
  private static func beginning(_ number: Double) -> UInt64 {
    if number.isNaN { return 0 }
    let bits = (number == 0 ? 0 : number).bitPattern
    return bits >> 63 == 0 ? bits | 1 << 63 : ~bits
  }

  private static func beginning(_ bytes: some Sequence<UInt8>) -> UInt64 {
    var word: UInt64 = 0
    var shift: UInt64 = 56
    for byte in bytes.prefix(8) {
      word |= UInt64(byte) << shift
      shift &-= 8
    }
    return word
  }
}
