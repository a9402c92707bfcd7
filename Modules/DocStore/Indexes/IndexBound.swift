public import CRDTCore

/// A place between the rows of an index: before or after all rows that begin with certain values.
public struct IndexBound: Hashable, Sendable {
  /// For the index's first fields, not necessarily all; `nil` is MISSING.
  public let values: [Value?]
  /// Whether the rows with these values lie before this place.
  public let isAfter: Bool

  /// Before the rows whose first values are these.
  public static func before(_ values: [Value?]) -> IndexBound { IndexBound(values: values, isAfter: false) }

  /// After the rows whose first values are these.
  public static func after(_ values: [Value?]) -> IndexBound { IndexBound(values: values, isAfter: true) }
}

extension IndexInfo {
  /// Above the first byte of everything that can follow a value in a key.
  private static let above = UInt8.max

  /// The key at a bound; `nil` stands for the index's beginning or end.
  ///
  /// Values too long for a key are found by their beginnings, so that the range has rows too many at its
  /// ends rather than too few.
  func key(_ bound: IndexBound?, isEnd: Bool) -> [UInt8] {
    var writer = IndexKeyWriter()
    guard let bound else {
      writer.append(index: UInt64(number) + (isEnd ? 1 : 0))
      return writer.bytes
    }
    writer.append(index: UInt64(number))
    writer.beginValues()
    for (value, field) in zip(bound.values, definition.fields) {
      writer.write(value, descending: field.isDescending)
    }
    let isCut = writer.endValues().isCut
    return writer.bytes + ((isCut ? isEnd : bound.isAfter) ? [Self.above] : [])
  }
}
