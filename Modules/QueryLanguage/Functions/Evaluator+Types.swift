import CRDTCore

extension FunctionDefinition {
  /// The functions that examine types and convert them.
  static let types: [FunctionDefinition] = [
    .init(
      .type, [.any], inPlace: .call(.type),
      on: .optional { _, operand in .string(Evaluator.typeName(operand)) }),
    .init(
      .jsonType, [.any], inPlace: .call(.jsonType),
      on: .optional { _, operand in .string(Evaluator.jsonTypeName(operand)) }),
    .init(.isBoolean, [.any], on: .values { _, operands in .bool(SortOrder.Class(operands[0]) == .boolean) }),
    .init(
      .isNumber, [.any], traits: .takesDecimals,
      on: .values { _, operands in .bool(SortOrder.Class(operands[0]) == .number || operands[0].isDecimal) }),
    .init(.isString, [.any], on: .values { _, operands in .bool(SortOrder.Class(operands[0]) == .string) }),
    .init(.cast, [.any, .string], on: .values { _, operands in Evaluator.cast(operands) }),
    .init(
      .serializeJSON, [.any], traits: .takesNull,
      on: .values { (evaluator, operands) throws(QueryError) in try evaluator.serialized(operands[0]) }),
    .init(
      .deserializeJSON, [.string],
      on: .text { (evaluator, text, _) throws(QueryError) in try evaluator.deserialized(text) }),
  ]
}

extension Evaluator {
  fileprivate static func cast(_ operands: [Value]) -> Value? {
    guard case .string(let name) = operands[1], let type = CastType(name: name.lowercased()) else {
      return nil
    }
    return cast(operands[0], to: type)
  }

  fileprivate mutating func serialized(_ value: Value) throws(QueryError) -> Value {
    var bytes: [UInt8] = []
    guard JSON.write(value, to: &bytes, atMost: remainingBytes) else { throw .produced(by: function) }
    try charge(bytes.count)
    return .string(String(decoding: bytes, as: UTF8.self))
  }

  fileprivate mutating func deserialized(_ text: String) throws(QueryError) -> Value? {
    let count = text.withUTF8Bytes { JSON.valueCount(in: $0) }
    try charge(text.utf8.count + count * MemoryLayout<Value>.stride)
    return Self.parsed(text)
  }

  /// The result of `type()`; never "number".
  static func typeName(_ value: Value?) -> String {
    switch value {
    case .bool: "boolean"
    case .int, .counter: "integer"
    case .double: "float"
    case .string: "string"
    case .decimal: "decimal"
    case .bytes: "binary"
    case .array: "array"
    case .map, .attachment: "object"
    case .null: "null"
    case nil: "missing"
    }
  }

  /// The result of `json_type()`: as `type()`, with one name for all numbers, and null for MISSING.
  static func jsonTypeName(_ value: Value?) -> String {
    guard let value else { return "null" }
    return switch SortOrder.Class(value) {
    case .boolean: "boolean"
    case .number: "number"
    case .string, .decimal: "string"
    case .array: "array"
    case .object, .attachment: "object"
    case .binary: "binary"
    case .null, .missing: "null"
    }
  }

  /// The value of a JSON text; MISSING for an invalid text.
  private static func parsed(_ text: String) -> Value? {
    do { return try JSON.parse(text) } catch { return nil }
  }

  /// MISSING where the value has no counterpart of the type.
  private static func cast(_ value: Value, to type: CastType) -> Value? {
    switch type {
    case .boolean:
      switch value {
      case .bool: return value
      case .string(let text): return ["true": true, "false": false][text.lowercased()].map(Value.bool)
      default: return value.wholeNumber.map { .bool($0 != 0) }
      }
    case .integer:
      switch value {
      case .bool(let value): return .int(value ? 1 : 0)
      case .double(let value): return Int64(exactly: value.rounded(.towardZero)).map(Value.int)
      case .string(let text): return Int64(text).map(Value.int)
      default: return value.wholeNumber.map(Value.int)
      }
    case .float:
      guard case .string(let text) = value else { return value.number.map(Value.double) }
      return parsed(text)?.number.map(Value.double)
    case .string:
      switch value {
      case .string: return value
      case .bool(let value): return .string(value ? "true" : "false")
      case .double(let value): return value.isFinite ? .string("\(value)") : nil
      default: return value.wholeNumber.map { .string("\($0)") }
      }
    case .binary:
      switch value {
      case .bytes: return value
      case .string(let text): return .bytes(Array(text.utf8))
      default: return nil
      }
    }
  }
}
