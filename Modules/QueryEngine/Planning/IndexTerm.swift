import CRDTCore
import DocStore

/// A part of documents by which an index orders them, and on which a predicate has a condition.
struct IndexTerm: Hashable, Sendable {
  let path: [TextKey]
  let part: IndexField.Part

  init(_ path: [TextKey], _ part: IndexField.Part = .value) {
    self.path = path
    self.part = part
  }

  /// Fails for an expression that cannot be in an index.
  init?(_ expression: Expression) {
    switch expression {
    case Condition.element: self.init([])
    case .path(let path):
      guard let keys = path.keys, !keys.isEmpty else { return nil }
      self.init(keys)
    case .call(.lower, let operands):
      guard case .path(let path)? = operands.first, let keys = path.keys, !keys.isEmpty else { return nil }
      self.init(keys, .lowercase)
    default: return nil
    }
  }
}

extension IndexField {
  var term: IndexTerm { IndexTerm(path, part) }
}

extension Condition {
  /// Stands for the element itself in a condition on the elements of an array.
  static let element = Expression.variable(Variable("", slot: -1), [])

  /// The term and the set of a condition on some element of an array, or on some value of an object.
  ///
  /// - Returns: `nil` for any other expression, and where there is no condition on elements.
  static func ofElements(_ expression: Expression) -> (term: IndexTerm, set: ValueSet)? {
    switch expression {
    case .call(.arrayContains, let operands):
      guard operands.count == 2, case .literal(let value) = operands[1] else { return nil }
      return elements(of: operands[0], value == .null ? .nothing : .point(value))
    case .in(.literal(let value), let list, negated: false):
      return elements(of: list, value == .null ? .nothing : .point(value))
    case .quantified(.every, _, _): return nil
    case .quantified(_, let iteration, let condition):
      // Inside of another such condition, the element of the outer array would look like this one's.
      guard !iteration.isDeep, !condition.contains(element) else { return nil }
      // The condition on the element is analysed like one on a document; only the whole element counts.
      let onElement = condition.rewritten { (node) throws(Never) -> Expression in
        guard case .variable(iteration.element, let path) = node, path.isEmpty else { return node }
        return element
      }
      let inner = Condition(onElement)
      guard let set = inner.kind == .never ? .nothing : inner.sets[IndexTerm([])] else { return nil }
      return elements(of: iteration.source, set)
    default: return nil
    }
  }

  private static func elements(of array: Expression, _ set: ValueSet) -> (term: IndexTerm, set: ValueSet)? {
    guard case .path(let path) = array, let keys = path.keys, !keys.isEmpty else { return nil }
    return (IndexTerm(keys, .elements), set)
  }
}

extension Expression {
  fileprivate func contains(_ part: Expression) -> Bool {
    self == part || children.contains { $0.contains(part) }
  }
}
