import CRDTCore

extension FunctionDefinition {
  /// The functions of objects.
  ///
  /// Keys are in the order of their UTF-8 bytes.
  static let objects: [FunctionDefinition] = [
    .init(
      .objectKeys, [.object],
      on: .object { _, members, _ in .array(SortOrder.sorted(members).map { .string($0.key.text) }) }),
    .init(
      .objectValues, [.object],
      on: .object { _, members, _ in .array(SortOrder.sorted(members).map(\.value)) }),
    .init(.objectLength, [.object], on: .object { _, members, _ in .int(Int64(members.count)) }),
    .init(
      .objectSet, [.object, .string, .any, .boolean], arity: 3...4, traits: .takesNull,
      on: .object { _, members, operands in Evaluator.set(members, operands) }),
    .init(
      .objectUnset, [.object, .string, .boolean], arity: 2...3,
      on: .object { _, members, operands in Evaluator.unset(members, operands) }),
    .init(
      .objectConcat, [.object], arity: 1...Int.max, on: .values { _, operands in Evaluator.merged(operands) }),
    .init(
      .objectRename, [.object, .string, .string],
      on: .object { _, members, operands in Evaluator.renamed(members, operands) }),
    .init(
      .objectSize, [.object],
      on: .object { (evaluator, _, operands) throws(QueryError) in try evaluator.size(of: operands[0]) }),
  ]
}

extension Evaluator {
  fileprivate mutating func size(of object: Value) throws(QueryError) -> Value {
    let bytes = ValueCodec.byteCount(of: object)
    try matching.spend(bytes)
    return .int(Int64(bytes))
  }

  /// All members of all objects; of two with the same key, the later one wins.
  fileprivate static func merged(_ operands: [Value]) -> Value? {
    var result: [TextKey: Value] = [:]
    for operand in operands {
      guard case .map(let members) = operand else { return nil }
      result.merge(members) { $1 }
    }
    return .map(result)
  }

  /// `object_set(object, key, value[, replace])`: MISSING if the key exists, unless `replace` is true.
  fileprivate static func set(_ members: [TextKey: Value], _ operands: [Value]) -> Value? {
    guard case .string(let key) = operands[1] else { return nil }
    guard members[key] == nil || operands.count > 3 && operands[3] == .bool(true) else { return nil }
    var members = members
    members[key] = operands[2]
    return .map(members)
  }

  /// `object_unset(object, key[, ignore])`: MISSING if there is no such key, unless `ignore` is true.
  fileprivate static func unset(_ members: [TextKey: Value], _ operands: [Value]) -> Value? {
    guard case .string(let key) = operands[1] else { return nil }
    var members = members
    guard
      members.removeValue(forKey: TextKey(key)) != nil || operands.count > 2 && operands[2] == .bool(true)
    else { return nil }
    return .map(members)
  }

  /// `object_rename(object, key, name)`: MISSING if there is no such key, or the name exists.
  fileprivate static func renamed(_ members: [TextKey: Value], _ operands: [Value]) -> Value? {
    var members = members
    guard case .string(let key) = operands[1], case .string(let name) = operands[2],
      let value = members.removeValue(forKey: TextKey(key)), members[name] == nil
    else { return nil }
    members[name] = value
    return .map(members)
  }
}
