package import CRDTCore

extension SortOrder {
  /// The beginning of a value as a number: where the numbers of two values differ, they order the values.
  package static func prefix(_ value: Value?) -> UInt64 {
    word(Class(value), beginning(value))
  }

  /// The same for a value in a record, in place.
  package static func prefix(of value: borrowing ValueRef) -> UInt64 {
    switch value.kind {
    case .bool: word(.boolean, value.bool ? .max : 0)
    case .int, .counter: word(.number, beginning(Double(value.int)))
    case .double: word(.number, beginning(value.double))
    case .bytes: word(.binary, beginning(value.bytes))
    case .string: word(.string, beginning(value.bytes))
    case .array: word(.array, 0)
    case .map: word(.object, 0)
    case .attachment: word(.attachment, 0)
    case .null: word(.null, 0)
    }
  }

  private static func word(_ valueClass: Class, _ beginning: UInt64) -> UInt64 {
    UInt64(valueClass.rawValue) << 60 | beginning >> 4
  }

  private static func beginning(_ bytes: RawSpan) -> UInt64 {
    var word: UInt64 = 0
    for offset in 0..<min(bytes.byteCount, 8) {
      let byte = unsafe bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
      word |= UInt64(byte) << UInt64(56 - 8 * offset)
    }
    return word
  }

  private static func beginning(_ value: Value?) -> UInt64 {
    switch value {
    case .bool(let flag): flag ? .max : 0
    case .int(let number), .counter(let number): beginning(Double(number))
    case .double(let number): beginning(number)
    case .decimal(let number): beginning(number.double)
    case .string(let string): beginning(string.utf8)
    case .bytes(let bytes): beginning(bytes)
    case .array, .map, .attachment, .null, nil: 0
    }
  }

  /// A double's bits in the order of doubles; both zeros are equal, and NaN comes first.
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
