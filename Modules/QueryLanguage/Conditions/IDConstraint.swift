package import CRDTCore

/// The ids of the documents that a predicate may accept.
///
/// The predicate is still applied, so a constraint may be too wide and must never be too narrow.
package enum IDConstraint: Equatable {
  /// These ids, ascending, each once.
  case ids([DocumentID])
  /// Id bytes from `from` (inclusive) to `to` (exclusive); `nil` means no bound.
  case range(from: [UInt8]?, to: [UInt8]?)

  package static let everything = IDConstraint.range(from: nil, to: nil)

  /// - Complexity: O(*n* log *n*) in the predicate's nodes and constants.
  package init(_ predicate: Expression) {
    switch predicate {
    case .and(let terms):
      self = terms.reduce(.everything) { $0.intersection(IDConstraint($1)) }
    case .or(let terms):
      self = terms.dropFirst().reduce(terms.first.map { IDConstraint($0) } ?? .ids([])) { sum, term in
        sum.union(IDConstraint(term))
      }
    case .binary(let symbol, Self.identifier, .literal(let value)):
      self = Self.comparison(symbol, value)
    case .binary(let symbol, .literal(let value), Self.identifier):
      self = Self.comparison(symbol.mirrored, value)
    case .in(Self.identifier, .literal(.array(let values)), negated: false):
      self = Self.any(of: values)
    case .between(Self.identifier, .literal(let low), .literal(let high), negated: false):
      self = Self.comparison(.greaterOrEqual, low).intersection(Self.comparison(.lessOrEqual, high))
    default:
      self = .everything
    }
  }

  /// Whether a predicate is only a condition on ids that are strings and integers.
  ///
  /// Then it accepts every document that the ids find.
  package static func saysAll(_ predicate: Expression) -> Bool {
    switch predicate {
    case .binary(.equal, identifier, .literal(let value)), .binary(.equal, .literal(let value), identifier):
      value.isOrderedAsBytes
    case .in(identifier, .literal(.array(let values)), negated: false): values.allSatisfy(\.isOrderedAsBytes)
    default: false
    }
  }

  private static let identifier = Expression.path([.key("_id")])

  private static func any(of values: [Value]) -> IDConstraint {
    var ids: [DocumentID] = []
    for value in values {
      guard case .ids(let some) = comparison(.equal, value) else { return .everything }
      ids += some
    }
    return .ids(Set(ids).sorted())
  }

  private static func comparison(_ symbol: BinaryOperator, _ value: Value) -> IDConstraint {
    guard let value = value.asIdentifier else { return .everything }
    // No id equals a value that cannot be one.
    guard let id = try? DocumentID(value) else { return symbol.isEquality ? .ids([]) : .everything }
    if symbol.isEquality { return .ids([id]) }
    // The bytes of ids that are strings or integers are in the order of the values; other types have no
    // ranges.
    guard value.isOrderedAsBytes else { return .everything }
    switch symbol {
    case .less: return .range(from: nil, to: id.bytes)
    case .lessOrEqual: return .range(from: nil, to: id.bytes + [0])
    case .greater, .greaterOrEqual: return .range(from: id.bytes, to: nil)
    default: return .everything
    }
  }

  func intersection(_ other: IDConstraint) -> IDConstraint {
    switch (self, other) {
    case (.ids(let left), .ids(let right)):
      let common = Set(right)
      return .ids(left.filter(common.contains))
    case (.ids(let ids), .range(let from, let to)), (.range(let from, let to), .ids(let ids)):
      return .ids(ids.filter { $0.isInside(from, to) })
    case (.range(let from, let to), .range(let otherFrom, let otherTo)):
      return .range(from: Self.outermost(from, otherFrom, >), to: Self.outermost(to, otherTo, <))
    }
  }

  private func union(_ other: IDConstraint) -> IDConstraint {
    guard case .ids(let left) = self, case .ids(let right) = other else { return .everything }
    return .ids(Set(left + right).sorted())
  }

  /// The narrower of two bounds, either of which may be absent.
  private static func outermost(
    _ left: [UInt8]?, _ right: [UInt8]?, _ isNarrower: (Int, Int) -> Bool
  ) -> [UInt8]? {
    guard let left else { return right }
    guard let right else { return left }
    return isNarrower(left.span.bytes.compare(right.span.bytes), 0) ? left : right
  }
}

extension DocumentID {
  fileprivate func isInside(_ from: [UInt8]?, _ to: [UInt8]?) -> Bool {
    if let from, bytes.span.bytes.compare(from.span.bytes) < 0 { return false }
    if let to, bytes.span.bytes.compare(to.span.bytes) >= 0 { return false }
    return true
  }
}

extension BinaryOperator {
  fileprivate var isEquality: Bool { self == .equal || self == .same }

  /// The operator with its sides exchanged.
  package var mirrored: BinaryOperator {
    switch self {
    case .less: .greater
    case .lessOrEqual: .greaterOrEqual
    case .greater: .less
    case .greaterOrEqual: .lessOrEqual
    default: self
    }
  }
}

extension Value {
  /// The id that equals this value in queries, where numbers compare by value.
  ///
  /// - Returns: `nil` when there may be several, or when it is hard to find: arrays and maps with doubles.
  package var asIdentifier: Value? {
    switch self {
    case .double(let number): Int64(exactly: number).map { .int($0) } ?? self
    case .counter(let number): .int(number)
    case .array(let elements): elements.allSatisfy(\.isExact) ? self : nil
    case .map(let members): members.values.allSatisfy(\.isExact) ? self : nil
    case .decimal: nil
    case .null, .bool, .int, .string, .bytes, .attachment: self
    }
  }

  private var isExact: Bool {
    switch self {
    case .double, .counter, .decimal: false
    case .array(let elements): elements.allSatisfy(\.isExact)
    case .map(let members): members.values.allSatisfy(\.isExact)
    case .null, .bool, .int, .string, .bytes, .attachment: true
    }
  }

  fileprivate var isOrderedAsBytes: Bool {
    switch self {
    case .int, .string: true
    case .null, .bool, .double, .bytes, .array, .map, .counter, .attachment, .decimal: false
    }
  }
}
