import CRDTCore

/// Comparisons by the rules of ``TruthValue``.
extension ScalarProgram {
  func compare(
    _ symbol: BinaryOperator, _ left: Scalar, _ right: Scalar, _ document: borrowing DocumentView,
    _ scratch: borrowing ScalarScratch
  ) throws(QueryError) -> Scalar {
    if left.isMissing || right.isMissing { return .missing }
    if left.isNull || right.isNull { return .null }
    guard left.valueClass == right.valueClass else { return .missing }
    let order = try order(left, right, document, scratch)
    switch symbol {
    case .equal: return Scalar(order == 0)
    case .notEqual: return Scalar(order != 0)
    case .less: return Scalar(order < 0)
    case .lessOrEqual: return Scalar(order <= 0)
    case .greater: return Scalar(order > 0)
    default: return Scalar(order >= 0)
    }
  }

  /// The order of two values of any kinds, by ``SortOrder``.
  func order(
    _ left: Scalar, _ right: Scalar, _ document: borrowing DocumentView, _ scratch: borrowing ScalarScratch
  ) throws(QueryError) -> Int {
    let (first, second) = (left.valueClass, right.valueClass)
    guard first == second else { return first < second ? -1 : 1 }
    switch first {
    case .missing, .null: return 0
    case .boolean, .number: return Scalar.comparePlain(left, right)
    case .string, .binary:
      return bytes(of: left, document, scratch).compare(bytes(of: right, document, scratch))
    case .array, .object, .attachment, .decimal:
      return SortOrder.compare(
        try value(of: left, document, scratch), try value(of: right, document, scratch))
    }
  }

  /// The result of a test for a value and a constant list.
  func listed(
    _ node: ScalarNode, _ subject: Scalar, _ document: borrowing DocumentView,
    _ scratch: borrowing ScalarScratch
  ) throws(QueryError) -> Scalar {
    let list = lists[Int(node.operand)]
    let isThere: Bool
    switch subject.kind {
    case .missing, .null: isThere = false
    case .bool: isThere = list.contains(subject.bool)
    case .int, .counter: isThere = list.contains(subject.int)
    case .double: isThere = list.contains(subject.double)
    case .string: isThere = list.contains(text: bytes(of: subject, document, scratch))
    case .bytes, .array, .object, .attachment, .decimal:
      isThere =
        try value(of: subject, document, scratch).map { list.contains($0, for: node.listTest) } ?? false
    }
    return Scalar(
      of: node.listTest.answer(.init(subject), hasNull: list.hasNull, isNegated: node.flag, isThere: isThere))
  }

  /// Whether an array has an element equal to `subject`: SQL's IN.
  func isMember(
    _ subject: Scalar, of list: Scalar, _ document: borrowing DocumentView, _ scratch: inout ScalarScratch
  ) throws(QueryError) -> Scalar {
    if subject.isMissing || list.isMissing { return .missing }
    if subject.isNull || list.isNull { return .null }
    guard list.kind == .array else { return .missing }
    var isUnknown = false
    let isThere = try contains(list, document, &scratch) {
      (element, scratch: inout ScalarScratch) throws(QueryError) in
      if element.isNull { isUnknown = true }
      return try order(subject, element, document, scratch) == 0
    }
    return isThere ? Scalar(true) : isUnknown ? .null : Scalar(false)
  }
}
