import CRDTCore

extension ScalarProgram {
  /// The result of the node at `index`.
  package func scalar(
    _ index: Int, _ document: borrowing DocumentView, _ scratch: inout ScalarScratch
  ) throws(QueryError) -> Scalar {
    let node = nodes.span[index]
    switch node.operation {
    case .constant: return node.constant
    case .key:
      // The id of a key is enough for most records, and its use counts no references.
      guard !document.record.carriesRootKeys else { return try field(node, document, &scratch) }
      guard let value = document.record.value(ofRootKey: node.keyID) else { return .missing }
      return try scalar(of: value, document, &scratch)
    case .field: return try field(node, document, &scratch)
    case .identifier: return try identifier(node, document, &scratch)
    case .variable: return try variable(node, document, &scratch)
    case .general:
      return scratch.scalar(
        of: try generals[Int(node.operand)].evaluate(document, keys, &scratch))
    case .listed:
      return try listed(node, try scalar(index + 1, document, &scratch), document, scratch)
    case .negate, .not, .isNotTrue, .isNull, .isMissing, .like, .regular:
      return try unary(node, try scalar(index + 1, document, &scratch), document, &scratch)
    case .compare, .same, .xor, .arithmetic, .membership:
      let left = try scalar(index + 1, document, &scratch)
      let right = try scalar(Int(nodes.span[index + 1].end), document, &scratch)
      return try binary(node, left, right, document, &scratch)
    case .between: return try between(node, index, document, &scratch)
    case .and: return try connected(node, index, decidedBy: false, document, &scratch)
    case .or: return try connected(node, index, decidedBy: true, document, &scratch)
    case .choose: return try choose(node, index, document, &scratch)
    case .firstKnown:
      return try first(node, index, document, &scratch) { !$0.isMissing && !$0.isNull }
    case .firstPresent: return try first(node, index, document, &scratch) { !$0.isMissing }
    case .firstNotNull: return try first(node, index, document, &scratch) { !$0.isNull }
    case .nvl: return try nvl(node, index, document, &scratch)
    case .decode: return try decode(node, index, document, &scratch)
    case .call(let form): return try call(form, node, index, document, &scratch)
    case .quantified: return try quantified(node, index, document, &scratch)
    }
  }

  private func unary(
    _ node: ScalarNode, _ operand: Scalar, _ document: borrowing DocumentView, _ scratch: inout ScalarScratch
  ) throws(QueryError) -> Scalar {
    switch node.operation {
    case .negate:
      guard operand.isPlain, let value = Arithmetic.negate(operand.plainValue) else { return .missing }
      return scratch.scalar(of: value)
    case .not: return Self.not(operand)
    case .isNotTrue: return Scalar(!operand.isTrue)
    case .isNull: return Scalar(operand.isNull != node.flag)
    case .isMissing: return Scalar(operand.isMissing != node.flag)
    default: break
    }
    if operand.isNull { return .null }
    guard operand.kind == .string else { return .missing }
    let matches: Bool
    if node.operation == .regular {
      var budget = scratch.matching ?? MatchingBudget(scope.context)
      defer { scratch.matching = budget }
      matches = try programs[Int(node.operand)].matches(bytes(of: operand, document, scratch), &budget)
    } else {
      guard let pattern = patterns[Int(node.operand)] else { return .missing }
      if pattern.words > 1 { try scratch.spend(pattern.words * operand.range.count, scope.context) }
      matches = pattern.matches(bytes(of: operand, document, scratch))
    }
    return Scalar(matches != node.flag)
  }

  private func binary(
    _ node: ScalarNode, _ left: Scalar, _ right: Scalar, _ document: borrowing DocumentView,
    _ scratch: inout ScalarScratch
  ) throws(QueryError) -> Scalar {
    switch node.operation {
    case .compare: return try compare(node.symbol, left, right, document, scratch)
    case .same:
      let order = try order(
        left.isMissing ? .null : left, right.isMissing ? .null : right, document, scratch)
      return Scalar((order == 0) != node.flag)
    case .xor:
      guard left.kind == .bool, right.kind == .bool else { return .null }
      return Scalar(left.bool != right.bool)
    case .arithmetic:
      if left.isMissing || right.isMissing { return .missing }
      if left.isNull || right.isNull { return .null }
      guard left.isPlain, right.isPlain else { return .missing }
      return scratch.scalar(of: Arithmetic.apply(node.symbol, left.plainValue, right.plainValue))
    default:
      let found = try isMember(left, of: right, document, &scratch)
      return node.flag ? Self.not(found) : found
    }
  }

  private func between(
    _ node: ScalarNode, _ index: Int, _ document: borrowing DocumentView, _ scratch: inout ScalarScratch
  ) throws(QueryError) -> Scalar {
    let second = Int(nodes.span[index + 1].end)
    let subject = try scalar(index + 1, document, &scratch)
    let low = try scalar(second, document, &scratch)
    let above = try compare(.greaterOrEqual, subject, low, document, scratch)
    let high = try scalar(Int(nodes.span[second].end), document, &scratch)
    let below = try compare(.lessOrEqual, subject, high, document, scratch)
    let isInside: Scalar =
      above.isFalse || below.isFalse ? Scalar(false) : above.isTrue && below.isTrue ? Scalar(true) : .null
    return node.flag ? Self.not(isInside) : isInside
  }

  /// AND, which false decides, or OR, which true decides; the first operand that decides ends it.
  private func connected(
    _ node: ScalarNode, _ index: Int, decidedBy decisive: Bool, _ document: borrowing DocumentView,
    _ scratch: inout ScalarScratch
  ) throws(QueryError) -> Scalar {
    var result = Scalar(!decisive)
    var child = index + 1
    while child < node.end {
      let term = try scalar(child, document, &scratch)
      if term.kind != .bool {
        result = .null
      } else if term.bool == decisive {
        return term
      }
      child = Int(nodes.span[child].end)
    }
    return result
  }

  private func choose(
    _ node: ScalarNode, _ index: Int, _ document: borrowing DocumentView, _ scratch: inout ScalarScratch
  ) throws(QueryError) -> Scalar {
    var child = index + 1
    while child < node.end {
      let result = Int(nodes.span[child].end)
      // A last child without a partner is ELSE.
      if result >= node.end { return try scalar(child, document, &scratch) }
      if try scalar(child, document, &scratch).isTrue { return try scalar(result, document, &scratch) }
      child = Int(nodes.span[result].end)
    }
    return .null
  }

  private func first(
    _ node: ScalarNode, _ index: Int, _ document: borrowing DocumentView, _ scratch: inout ScalarScratch,
    where fits: (Scalar) -> Bool
  ) throws(QueryError) -> Scalar {
    var last = Scalar.missing
    var child = index + 1
    while child < node.end {
      last = try scalar(child, document, &scratch)
      if fits(last) { return last }
      child = Int(nodes.span[child].end)
    }
    return last
  }

  /// `nvl(a, b)` and `nvl(a, then, else)`.
  private func nvl(
    _ node: ScalarNode, _ index: Int, _ document: borrowing DocumentView, _ scratch: inout ScalarScratch
  ) throws(QueryError) -> Scalar {
    let tested = try scalar(index + 1, document, &scratch)
    let isKnown = !tested.isMissing && !tested.isNull
    let second = Int(nodes.span[index + 1].end)
    let third = Int(nodes.span[second].end)
    if third >= node.end { return isKnown ? tested : try scalar(second, document, &scratch) }
    return try scalar(isKnown ? second : third, document, &scratch)
  }

  private func decode(
    _ node: ScalarNode, _ index: Int, _ document: borrowing DocumentView, _ scratch: inout ScalarScratch
  ) throws(QueryError) -> Scalar {
    let subject = try scalar(index + 1, document, &scratch)
    if subject.isMissing { return .missing }
    var child = Int(nodes.span[index + 1].end)
    while child < node.end {
      let result = Int(nodes.span[child].end)
      if result >= node.end { return try scalar(child, document, &scratch) }
      let sought = try scalar(child, document, &scratch)
      if !sought.isMissing, try order(subject, sought, document, scratch) == 0 {
        return try scalar(result, document, &scratch)
      }
      child = Int(nodes.span[result].end)
    }
    return .null
  }

  static func not(_ operand: Scalar) -> Scalar {
    switch operand.kind {
    case .bool: Scalar(!operand.bool)
    case .null: .null
    default: .missing
    }
  }
}
