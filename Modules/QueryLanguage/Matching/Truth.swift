import CRDTCore

/// The result of a predicate for a document.
///
/// `other` is a value that is not a truth value, such as a number: no predicate accepts it.
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

  /// The equal value; `nil` for MISSING and for `other`.
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
