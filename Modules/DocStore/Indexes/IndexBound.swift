public import CRDTCore

/// A place between the rows of an index: before or after all rows that begin with certain values.
public struct IndexBound: Hashable, Sendable {
  /// The values of the index's first fields, not necessarily all; `nil` is MISSING.
  public let values: [Value?]
  /// Whether this place is behind the rows with these values.
  public let isAfter: Bool
  /// Whether the last value, a string, matches all strings that begin with it.
  public let isPrefix: Bool

  private init(_ values: [Value?], isAfter: Bool, isPrefix: Bool = false) {
    self.values = values
    self.isAfter = isAfter
    self.isPrefix = isPrefix
  }

  /// Before the rows whose first values are these.
  public static func before(_ values: [Value?]) -> IndexBound { IndexBound(values, isAfter: false) }

  /// After the rows whose first values are these.
  public static func after(_ values: [Value?]) -> IndexBound { IndexBound(values, isAfter: true) }

  /// Before the rows whose first values are these, followed by a string that begins with `text`.
  public static func beforePrefix(_ values: [Value?], text: String) -> IndexBound {
    IndexBound(values + [.string(text)], isAfter: false, isPrefix: true)
  }

  /// After the rows whose first values are these, followed by a string that begins with `text`.
  public static func afterPrefix(_ values: [Value?], text: String) -> IndexBound {
    IndexBound(values + [.string(text)], isAfter: true, isPrefix: true)
  }
}

extension IndexInfo {
  /// Two bytes above everything that can follow a value in a key.
  private static let above: [UInt8] = [.max, .max]

  /// The key at a bound; `nil` is the index's beginning or end.
  ///
  /// For values too long for a key, the key has only their beginnings. So the range may contain extra rows at
  /// its ends, but never lacks any.
  func key(_ bound: IndexBound?, isEnd: Bool) -> [UInt8] {
    var writer = IndexKeyWriter()
    guard let bound else {
      writer.append(index: UInt64(number) + (isEnd ? 1 : 0))
      return writer.bytes
    }
    writer.append(index: UInt64(number))
    writer.beginValues()
    for (place, (value, field)) in zip(bound.values, definition.fields).enumerated() {
      if bound.isPrefix, place == bound.values.count - 1, case .string(let text) = value {
        writer.write(prefix: text, descending: field.isDescending)
      } else {
        writer.write(value, descending: field.isDescending)
      }
    }
    let isCut = writer.endValues().isCut
    return writer.bytes + ((isCut ? isEnd : bound.isAfter) ? Self.above : [])
  }
}
