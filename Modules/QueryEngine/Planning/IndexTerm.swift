import CRDTCore
import DocStore

/// What of a document an index orders documents by, and a predicate says something of.
struct IndexTerm: Hashable, Sendable {
  let path: [TextKey]
  let part: IndexField.Part

  init(_ path: [TextKey], _ part: IndexField.Part = .value) {
    self.path = path
    self.part = part
  }

  /// Fails for an expression that no index has.
  init?(_ expression: Expression) {
    switch expression {
    case .path(let path):
      guard let keys = path.keys else { return nil }
      self.init(keys)
    case .call(.lower, let operands):
      guard case .path(let path)? = operands.first, let keys = path.keys else { return nil }
      self.init(keys, .lowercase)
    default: return nil
    }
  }
}

extension IndexField {
  var term: IndexTerm { IndexTerm(path, part) }
}

extension Condition {
  /// What a condition on some element of an array says, or on some value of an object.
  ///
  /// - Returns: `nil` for an expression that is no such condition, or says nothing of elements.
  static func ofElements(_ expression: Expression) -> (term: IndexTerm, set: ValueSet)? {
    switch expression {
    case .call(.arrayContains, let operands):
      guard operands.count == 2, case .literal(let value) = operands[1] else { return nil }
      return elements(of: operands[0], value == .null ? .nothing : .point(value))
    case .in(.literal(let value), let list, negated: false):
      return elements(of: list, value == .null ? .nothing : .point(value))
    case .quantified(.every, _, _): return nil
    case .quantified(_, let iteration, let condition):
      guard !iteration.isDeep else { return nil }
      // The element is asked about like a document, of which no part but the whole is meant.
      let onElement = condition.rewritten { (node) throws(Never) -> Expression in
        guard case .variable(iteration.element, let path) = node, path.isEmpty else { return node }
        return .path([])
      }
      let inner = Condition(onElement)
      guard let set = inner.kind == .never ? .nothing : inner.sets[IndexTerm([])] else { return nil }
      return elements(of: iteration.source, set)
    default: return nil
    }
  }

  private static func elements(of array: Expression, _ set: ValueSet) -> (term: IndexTerm, set: ValueSet)? {
    guard case .path(let path) = array, let keys = path.keys else { return nil }
    return (IndexTerm(keys, .elements), set)
  }
}
