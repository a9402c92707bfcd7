import CRDTCore

/// What a predicate says of a document.
///
/// `other` is a value that is no truth value at all, such as a number: no predicate accepts it.
enum Truth: UInt8 {
  case no, yes, null, missing, other

  init(_ flag: Bool) { self = flag ? .yes : .no }

  init(_ value: Value?) {
    switch value {
    case nil: self = .missing
    case .null: self = .null
    case .bool(let flag): self = flag ? .yes : .no
    case .int, .double, .string, .bytes, .array, .map, .counter, .attachment, .decimal: self = .other
    }
  }

  /// The value that says the same; nothing but a truth value, null and missing has one.
  var value: Value? {
    switch self {
    case .no: .bool(false)
    case .yes: .bool(true)
    case .null: .null
    case .missing, .other: nil
    }
  }

  var negated: Truth {
    switch self {
    case .no: .yes
    case .yes: .no
    case .null: .null
    case .missing, .other: .missing
    }
  }

  func and(_ right: Truth) -> Truth {
    switch (self, right) {
    case (.no, _), (_, .no): .no
    case (.yes, .yes): .yes
    default: .null
    }
  }

  func or(_ right: Truth) -> Truth {
    switch (self, right) {
    case (.yes, _), (_, .yes): .yes
    case (.no, .no): .no
    default: .null
    }
  }
}
