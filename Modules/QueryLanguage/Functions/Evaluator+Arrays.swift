import CRDTCore

extension FunctionDefinition {
  /// The functions of arrays.
  static let arrays: [FunctionDefinition] = [
    .init(
      .arrayContains, [.array, .any], inPlace: .call(.arrayContains),
      on: .array { evaluator, elements, operands in
        if let known = evaluator.scope.lists.list(elements) {
          return .bool(known.contains(operands[1], for: .containment))
        }
        return .bool(elements.contains { SortOrder.compare($0, operands[1]) == 0 })
      }),
    .init(
      .arrayContainsNull, [.array], inPlace: .call(.arrayContainsNull),
      on: .array { _, elements, _ in .bool(elements.contains(.null)) }),
    .init(
      .arrayLength, [.array], traits: .takesDecimals, inPlace: .call(.arrayLength),
      on: .array { _, elements, _ in .int(Int64(elements.count)) }),
    .init(
      .arraySort, [.array], traits: .takesDecimals,
      on: .array { _, elements, _ in .array(elements.sorted { SortOrder.compare($0, $1) < 0 }) }),
    .init(
      .arrayDistinct, [.array], traits: .takesDecimals,
      on: .array { _, elements, _ in .array(Evaluator.distinct(elements)) }),
    .init(
      .exists, [.array], traits: [.isOperator, .takesDecimals],
      on: .array { _, elements, _ in .bool(!elements.isEmpty) }),
  ]
}

extension Evaluator {
  /// Of equal elements the first is kept, in the order of the array.
  fileprivate static func distinct(_ elements: [Value]) -> [Value] {
    let order = elements.indices.sorted {
      let order = SortOrder.compare(elements[$0], elements[$1])
      return order != 0 ? order < 0 : $0 < $1
    }
    let kept = order.indices.filter {
      $0 == 0 || SortOrder.compare(elements[order[$0 - 1]], elements[order[$0]]) != 0
    }
    return kept.map { order[$0] }.sorted().map { elements[$0] }
  }
}
