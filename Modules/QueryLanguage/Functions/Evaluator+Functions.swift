import CRDTCore

/// Calls: which arguments are evaluated, and what NULL and MISSING arguments mean.
extension Evaluator {
  mutating func call(
    _ function: Function, _ operands: [Expression], _ row: (FieldPath) -> Value?
  ) throws(QueryError) -> Value? {
    switch function {
    case .coalesce: return try first(of: operands, row) { $0 != nil && $0 != .null }
    case .ifMissing: return try first(of: operands, row) { $0 != nil }
    case .ifNull: return try first(of: operands, row) { $0 != .null }
    case .nvl:
      let tested = try value(of: operands[0], row)
      let isKnown = tested != nil && tested != .null
      if operands.count == 2 { return isKnown ? tested : try value(of: operands[1], row) }
      return try value(of: operands[isKnown ? 1 : 2], row)
    case .decode: return try decode(operands, row)
    default: break
    }
    var values: [Value?] = []
    values.reserveCapacity(operands.count)
    for operand in operands { values.append(try value(of: operand, row)) }
    if isStrict { try check(values, of: .call(function, operands)) }
    switch function {
    case .isMissing: return .bool(values[0] == nil)
    case .isNull: return .bool(values[0] == .null)
    case .isMissingOrNull: return .bool(values[0] == nil || values[0] == .null)
    case .nullIf:
      return TruthValue.compare(values[0], values[1]) { $0 == 0 } == .bool(true) ? .null : values[0]
    case .missingIf:
      return TruthValue.compare(values[0], values[1]) { $0 == 0 } == .bool(true) ? nil : values[0]
    case .type: return .string(Self.typeName(values[0]))
    default: return try eager(function, values)
    }
  }

  private mutating func first(
    of operands: [Expression], _ row: (FieldPath) -> Value?, where fits: (Value?) -> Bool
  ) throws(QueryError) -> Value? {
    var last: Value?
    for operand in operands {
      last = try value(of: operand, row)
      if fits(last) { return last }
    }
    // No argument fits: the last one decides whether the result is NULL or MISSING.
    return last
  }

  /// `decode(e, s1, r1, s2, r2, …, default)`; null matches null, and MISSING matches nothing.
  private mutating func decode(
    _ operands: [Expression], _ row: (FieldPath) -> Value?
  ) throws(QueryError) -> Value? {
    guard let subject = try value(of: operands[0], row) else { return nil }
    var index = 1
    while index + 1 < operands.count {
      let search = try value(of: operands[index], row)
      if let search, SortOrder.compare(subject, search) == 0 {
        return try value(of: operands[index + 1], row)
      }
      index += 2
    }
    return index < operands.count ? try value(of: operands[index], row) : .null
  }

  /// A function of present values: a MISSING argument gives MISSING, otherwise a NULL argument gives NULL.
  mutating func eager(_ function: Function, _ operands: [Value?]) throws(QueryError) -> Value? {
    // Of these functions, only this one has a result for MISSING.
    if function == .jsonType { return .string(Self.jsonTypeName(operands[0])) }
    var values: [Value] = []
    values.reserveCapacity(operands.count)
    for operand in operands {
      guard let operand else { return nil }
      values.append(operand)
    }
    if !function.takesNull, values.contains(.null) { return .null }
    if values.contains(where: \.holdsDecimal) {
      if let result = Self.decimal(function, values) { return result }
      // All other functions receive a decimal as its text.
      for index in values.indices { values[index] = values[index].withoutDecimals }
    }
    switch function {
    case .decimal: return Self.decimal(values[0])
    case .abs, .ceil, .floor: return Self.numeric(function, values[0])
    case .round, .trunc, .sign, .power, .sqrt, .exp, .ln, .log10, .pi:
      return Self.mathematics(function, values)
    case .clock, .dateAdd, .dateSub, .dateDiff, .datePart, .dateTrunc, .dateFormat, .dateCast, .dateRange,
      .zoneOffset, .durationCast, .durationFormat:
      return try date(function, values)
    case .arraySort, .arrayDistinct, .exists: return Self.array(function, values)
    case .arrayContains:
      if case .array(let elements) = values[0], let known = scope.lists.list(elements) {
        return .bool(known.contains(values[1], for: .containment))
      }
      return Self.array(function, values)
    case .requestInfo: return try requestInfo()
    case .concat, .contains, .startsWith, .endsWith, .byteLength, .charLength, .lower, .upper, .substr,
      .position,
      .split, .joinString, .leftTrim, .rightTrim, .trim, .leftPad, .rightPad, .repeat:
      return try string(function, values)
    case .regexpLike: return try regular(values)
    case .arrayContainsNull, .arrayLength: return Self.array(function, values)
    case .objectKeys, .objectValues, .objectLength, .objectSet, .objectUnset, .objectConcat, .objectRename,
      .objectSize:
      return try object(function, values)
    case .isBoolean, .isNumber, .isString, .cast, .serializeJSON, .deserializeJSON:
      return try type(function, values)
    case .type, .jsonType, .coalesce, .nvl, .ifMissing, .ifNull, .isMissing, .isNull, .isMissingOrNull,
      .nullIf,
      .missingIf,
      .decode:
      return nil
    }
  }

  /// `decimal(x)`: the exact decimal number of a number, or of the text of one.
  private static func decimal(_ operand: Value) -> Value? {
    if case .string(let text) = operand { return ExactDecimal(text).map(Value.decimal) }
    return operand.exactDecimal.map(Value.decimal)
  }

  /// The functions with support for decimals; `nil` for others.
  private static func decimal(_ function: Function, _ operands: [Value]) -> Value? {
    switch (function, operands[0]) {
    case (.abs, .decimal(let number)): .decimal(number < .zero ? -number : number)
    case (.sign, .decimal(let number)): .int(number < .zero ? -1 : number == .zero ? 0 : 1)
    case (.decimal, .decimal): operands[0]
    case (.isNumber, .decimal): .bool(true)
    case (.arraySort, .array), (.arrayDistinct, .array), (.arrayLength, .array), (.exists, .array):
      array(function, operands)
    default: nil
    }
  }

  private static func numeric(_ function: Function, _ operand: Value) -> Value? {
    switch (function, operand) {
    case (.abs, .int(let value)), (.abs, .counter(let value)): value == .min ? nil : .int(Swift.abs(value))
    case (.abs, .double(let value)): .double(Swift.abs(value))
    case (.ceil, .double(let value)): .double(value.rounded(.up))
    case (.floor, .double(let value)): .double(value.rounded(.down))
    case (.ceil, _), (.floor, _): operand.wholeNumber.map(Value.int)
    default: nil
    }
  }

  private static func array(_ function: Function, _ operands: [Value]) -> Value? {
    guard case .array(let elements) = operands[0] else { return nil }
    switch function {
    case .arrayLength: return .int(Int64(elements.count))
    case .exists: return .bool(!elements.isEmpty)
    case .arraySort: return .array(elements.sorted { SortOrder.compare($0, $1) < 0 })
    case .arrayDistinct:
      // Of equal elements the first is kept, in the order of the array.
      let order = elements.indices.sorted {
        let order = SortOrder.compare(elements[$0], elements[$1])
        return order != 0 ? order < 0 : $0 < $1
      }
      let kept = order.indices.filter {
        $0 == 0 || SortOrder.compare(elements[order[$0 - 1]], elements[order[$0]]) != 0
      }
      return .array(kept.map { order[$0] }.sorted().map { elements[$0] })
    case .arrayContainsNull: return .bool(elements.contains(.null))
    case .arrayContains: return .bool(elements.contains { SortOrder.compare($0, operands[1]) == 0 })
    default: return nil
    }
  }
}

extension Function {
  /// Whether NULL is an ordinary argument; in other functions it makes the result NULL.
  fileprivate var takesNull: Bool {
    switch self {
    case .objectSet, .serializeJSON: true
    default: false
    }
  }
}
