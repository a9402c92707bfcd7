import CRDTCore

/// A test whether a value is in a constant list, in any form that it has in an expression.
struct ListTest {
  enum Kind: UInt8 {
    /// `subject IN list`.
    case membership
    /// `array_contains(list, subject)`.
    case containment
    /// `ANY x IN list SATISFIES x = subject`.
    case equalElement
    /// The same with an operator for which null and MISSING equal null.
    case sameElement
  }

  let kind: Kind
  let subject: Expression
  let elements: [Value]
  /// The rule by which texts are compared.
  let rule: Collation
  /// Whether the result is negated.
  let isNegated: Bool

  /// - Returns: `nil` for any other expression.
  init?(_ expression: Expression) {
    switch expression {
    case .in(let subject, .literal(.array(let elements)), let negated):
      self.init(.membership, subject, elements, Collation.ruling([subject]) ?? .binary, isNegated: negated)
    case .call(.arrayContains, let operands):
      guard operands.count == 2, case .literal(.array(let elements)) = operands[0] else { return nil }
      self.init(.containment, operands[1], elements)
    case .quantified(.any, let iteration, let condition):
      guard case .literal(.array(let elements)) = iteration.source, !iteration.isDeep,
        let (kind, subject) = Self.comparison(condition, of: iteration)
      else { return nil }
      self.init(kind, subject, elements)
    default: return nil
    }
  }

  private init(
    _ kind: Kind, _ subject: Expression, _ elements: [Value], _ rule: Collation = .binary,
    isNegated: Bool = false
  ) {
    self.kind = kind
    self.subject = subject
    self.elements = elements
    self.rule = rule
    self.isNegated = isNegated
  }

  /// The expression with which an iteration's element is compared, if it does not depend on the element.
  private static func comparison(
    _ condition: Expression, of iteration: Iteration
  ) -> (kind: Kind, subject: Expression)? {
    guard case .binary(let symbol, let left, let right) = condition, symbol == .equal || symbol == .same,
      Collation.ruling([left, right]) == nil
    else { return nil }
    let bound = [iteration.element.slot, iteration.position?.slot].compactMap { $0 }
    for (element, subject) in [(left, right), (right, left)] {
      guard case .variable(let variable, let path) = element, variable.slot == iteration.element.slot,
        path.isEmpty, !subject.readsVariable(in: bound)
      else { continue }
      return (symbol == .equal ? .equalElement : .sameElement, subject)
    }
    return nil
  }
}

extension ListTest.Kind {
  /// The result of the test for its subject.
  ///
  /// - Parameters:
  ///   - subject: Whether the subject is missing, null, or a value.
  ///   - hasNull: Whether the list contains null.
  ///   - isNegated: Whether the result is negated.
  ///   - isThere: Whether the list contains the subject, if it is a value.
  /// - Returns: The result.
  func answer(_ subject: ListTest.Subject, hasNull: Bool, isNegated: Bool, isThere: Bool) -> Truth {
    switch (self, subject) {
    case (.membership, .missing), (.containment, .missing): return .missing
    case (.membership, .null), (.containment, .null): return .null
    case (.equalElement, .missing), (.equalElement, .null): return .no
    case (.sameElement, .missing), (.sameElement, .null): return Truth(hasNull)
    case (.membership, .value): return isThere ? Truth(!isNegated) : hasNull ? .null : Truth(isNegated)
    case (.containment, .value), (.equalElement, .value), (.sameElement, .value): return Truth(isThere)
    }
  }
}

extension ListTest {
  enum Subject {
    case missing, null, value

    init(_ value: Value?) { self = value.map { $0 == .null ? .null : .value } ?? .missing }

    init(_ scalar: Scalar) { self = scalar.isMissing ? .missing : scalar.isNull ? .null : .value }
  }
}

extension ConstantList {
  /// The result of a test for a value.
  func answer(_ kind: ListTest.Kind, _ value: Value?, isNegated: Bool) -> Value? {
    let isThere = value.map { contains($0, for: kind) } ?? false
    return kind.answer(.init(value), hasNull: hasNull, isNegated: isNegated, isThere: isThere).value
  }
}

extension Expression {
  /// Whether it reads a variable in one of these slots, which a comprehension around it has bound.
  fileprivate func readsVariable(in slots: [Int]) -> Bool {
    if case .variable(let variable, _) = self { return slots.contains(variable.slot) }
    return children.contains { $0.readsVariable(in: slots) }
  }
}
