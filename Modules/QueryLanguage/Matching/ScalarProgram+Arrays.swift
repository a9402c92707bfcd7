import CRDTCore

/// Iteration over arrays: comprehensions, and the functions that search for elements.
extension ScalarProgram {
  /// The cost of one element, in steps of a run, as in the evaluator.
  private static let stepsPerElement = 16

  typealias ElementTest = (Scalar, inout ScalarScratch) throws(QueryError) -> Bool

  /// Whether some element of an array passes a test; the memory that the test uses is released after each.
  func contains(
    _ array: Scalar, _ document: borrowing DocumentView, _ scratch: inout ScalarScratch,
    where test: ElementTest
  ) throws(QueryError) -> Bool {
    guard !array.isBoxed else {
      guard case .array(let elements) = try value(of: array, document, scratch) else { return false }
      for element in elements where try passes(element, &scratch, test) { return true }
      return false
    }
    var elements: EncodedArray
    do throws(CodecError) {
      guard let encoded = try EncodedArray(array, document) else { return false }
      elements = encoded
    } catch {
      throw .unreadable(error)
    }
    for _ in 0..<elements.count {
      let mark = scratch.mark
      let element: Scalar
      do throws(CodecError) { element = try elements.next(&scratch) } catch { throw .unreadable(error) }
      if try test(element, &scratch) { return true }
      scratch.release(to: mark)
    }
    return false
  }

  private func passes(
    _ element: Value, _ scratch: inout ScalarScratch, _ test: ElementTest
  ) throws(QueryError) -> Bool {
    let mark = scratch.mark
    let passes = try test(scratch.scalar(of: element), &scratch)
    scratch.release(to: mark)
    return passes
  }

  /// ANY, EVERY, ANY AND EVERY … IN … SATISFIES: over an array's elements or an object's members.
  func quantified(
    _ node: ScalarNode, _ index: Int, _ document: borrowing DocumentView, _ scratch: inout ScalarScratch
  ) throws(QueryError) -> Scalar {
    let source = try scalar(index + 1, document, &scratch)
    if source.isNull { return .null }
    guard source.kind == .array || source.kind == .object else { return .missing }
    let condition = Int(nodes.span[index + 1].end)
    let slot = Int(node.operand)
    let positionSlot = Int(node.keyID) - 1
    while scratch.variables.count <= max(slot, positionSlot) { scratch.variables.append(.missing) }
    let decisive = node.quantifier == .any
    var count: Int64 = 0
    var isDecided = false
    if source.kind == .array {
      isDecided = try contains(source, document, &scratch) {
        (element, scratch: inout ScalarScratch) throws(QueryError) in
        if positionSlot >= 0 { scratch.variables[positionSlot] = Scalar(count) }
        scratch.variables[slot] = element
        count += 1
        try scratch.spend(Self.stepsPerElement, scope.context)
        return try scalar(condition, document, &scratch).isTrue == decisive
      }
    } else if case .map(let members) = try value(of: source, document, scratch) {
      for (key, value) in SortOrder.sorted(members) where !isDecided {
        let mark = scratch.mark
        if positionSlot >= 0 { scratch.variables[positionSlot] = scratch.scalar(of: .string(key.text)) }
        scratch.variables[slot] = scratch.scalar(of: value)
        count += 1
        try scratch.spend(Self.stepsPerElement, scope.context)
        isDecided = try scalar(condition, document, &scratch).isTrue == decisive
        scratch.release(to: mark)
      }
    }
    if count == 0 { return Scalar(node.quantifier == .every) }
    return Scalar(isDecided == decisive)
  }

  /// `array_contains_null(array)`.
  func arrayContainsNull(
    _ array: Scalar, _ document: borrowing DocumentView, _ scratch: inout ScalarScratch
  ) throws(QueryError) -> Scalar {
    guard array.kind == .array else { return array.unfit }
    return Scalar(
      try contains(array, document, &scratch) { (element, _) throws(QueryError) in element.isNull })
  }

  /// `array_contains(array, value)`.
  func arrayContains(
    _ array: Scalar, _ sought: Scalar, _ document: borrowing DocumentView, _ scratch: inout ScalarScratch
  ) throws(QueryError) -> Scalar {
    guard array.kind == .array, !sought.isMissing, !sought.isNull else {
      return Scalar.unfit(array, sought)
    }
    return Scalar(
      try contains(array, document, &scratch) {
        (element, scratch: inout ScalarScratch) throws(QueryError) in
        try order(element, sought, document, scratch) == 0
      })
  }

  /// `array_length(array)`.
  func arrayLength(
    _ array: Scalar, _ document: borrowing DocumentView, _ scratch: borrowing ScalarScratch
  ) throws(QueryError) -> Scalar {
    guard array.kind == .array else { return array.unfit }
    if case .array(let elements) = array.isBoxed ? try value(of: array, document, scratch) : nil {
      return Scalar(Int64(elements.count))
    }
    do throws(CodecError) {
      guard let elements = try EncodedArray(array, document) else { return .missing }
      return Scalar(Int64(elements.count))
    } catch {
      throw .unreadable(error)
    }
  }
}
