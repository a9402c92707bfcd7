import CRDTCore

extension RecordMatcher {
  /// The result of a leaf for a value that is present.
  ///
  /// The record's bytes identify the value's text among the shared texts.
  func test(
    _ node: MatcherNode, _ value: borrowing ValueRef, _ record: RawSpan, _ folded: FoldedTexts?
  ) throws(QueryError) -> Truth {
    let kind = value.kind
    switch (node.operation, kind) {
    case (.bool, .bool):
      return value.bool ? node.success : node.failure
    case (.compareInt, .int), (.compareInt, .counter):
      return node.answer(Self.order(value.int, node.number))
    case (.compareInt, .double):
      return node.answer(-SortOrder.compare(node.number, value.double))
    case (.compareDouble, .int), (.compareDouble, .counter):
      return node.answer(SortOrder.compare(value.int, node.double))
    case (.compareDouble, .double):
      return node.answer(SortOrder.compare(value.double, node.double))
    case (.compareString, .string), (.compareBytes, .bytes):
      return node.answer(value.bytes.compare(constant(node.constants)))
    case (.like, .string):
      return node.answer(try matches(patterns[Int(node.constants.start)], value.bytes, record, folded))
    case (.regular, .string):
      var budget = MatchingBudget(context)
      return node.answer(try programs[Int(node.constants.start)].matches(value.bytes, &budget))
    case (.startsWith, .string):
      return node.answer(value.bytes.hasPrefix(constant(node.constants)))
    case (.endsWith, .string):
      return node.answer(value.bytes.hasSuffix(constant(node.constants)))
    case (.containsString, .string):
      return node.answer(value.bytes.contains(constant(node.constants)))
    case (.inInts, .int), (.inInts, .counter):
      return node.answer(contains(value.int, in: node.constants))
    case (.inInts, .double):
      guard let whole = Int64(exactly: value.double) else { return node.failure }
      return node.answer(contains(whole, in: node.constants))
    case (.inStrings, .string):
      return node.answer(contains(value.bytes, in: node.constants))
    default:
      return node.kinds[kind]
    }
  }

  private func matches(
    _ pattern: LikePattern, _ text: RawSpan, _ record: RawSpan, _ folded: FoldedTexts?
  ) throws(QueryError) -> Bool {
    if pattern.words > 1 {
      var budget = MatchingBudget(context)
      try budget.spend(pattern.words * text.byteCount)
    }
    guard pattern.isCaseInsensitive, let folded else { return pattern.matches(text) }
    return pattern.matches(prepared: folded.folded(text, of: record).span.bytes)
  }

  @_lifetime(borrow self)
  private func constant(_ range: ConstantRange) -> RawSpan { text.span.bytes.extracting(range.bounds) }

  private static func order(_ left: Int64, _ right: Int64) -> Int {
    left < right ? -1 : left > right ? 1 : 0
  }

  private func contains(_ value: Int64, in range: ConstantRange) -> Bool {
    var bounds = range.bounds
    while !bounds.isEmpty {
      let middle = bounds.lowerBound + bounds.count / 2
      if ints[middle] == value { return true }
      bounds = ints[middle] < value ? middle + 1..<bounds.upperBound : bounds.lowerBound..<middle
    }
    return false
  }

  private func contains(_ value: RawSpan, in range: ConstantRange) -> Bool {
    var bounds = range.bounds
    while !bounds.isEmpty {
      let middle = bounds.lowerBound + bounds.count / 2
      let order = value.compare(constant(ranges[middle]))
      if order == 0 { return true }
      bounds = order > 0 ? middle + 1..<bounds.upperBound : bounds.lowerBound..<middle
    }
    return false
  }
}

extension MatcherNode {
  /// The constant of `compareDouble`.
  fileprivate var double: Double { Double(bitPattern: UInt64(bitPattern: number)) }

  fileprivate func answer(_ success: Bool) -> Truth { success ? self.success : failure }

  /// The result of a comparison, given the order of the field and the constant.
  fileprivate func answer(_ order: Int) -> Truth {
    switch comparison {
    case .equal: answer(order == 0)
    case .notEqual: answer(order != 0)
    case .less: answer(order < 0)
    case .lessOrEqual: answer(order <= 0)
    case .greater: answer(order > 0)
    case .greaterOrEqual: answer(order >= 0)
    }
  }
}
