import CRDTCore

/// Functions of objects. Keys are in the order of their UTF-8 bytes.
extension Evaluator {
  mutating func object(_ function: Function, _ operands: [Value]) throws(QueryError) -> Value? {
    guard case .map(let members) = operands[0] else { return nil }
    switch function {
    case .objectLength: return .int(Int64(members.count))
    case .objectKeys: return .array(SortOrder.sorted(members).map { .string($0.key.text) })
    case .objectValues: return .array(SortOrder.sorted(members).map(\.value))
    case .objectSize:
      let bytes = Self.encodedBytes(operands[0])
      try charge(bytes)
      return .int(Int64(bytes))
    case .objectConcat: return Self.merged(operands)
    case .objectSet, .objectUnset, .objectRename: return Self.changed(function, members, operands)
    default: return nil
    }
  }

  private static func encodedBytes(_ value: Value) -> Int {
    var writer = ByteWriter()
    ValueCodec.write(value, to: &writer)
    return writer.count
  }

  /// All members of all objects; of two with the same key, the later one wins.
  private static func merged(_ operands: [Value]) -> Value? {
    var result: [TextKey: Value] = [:]
    for operand in operands {
      guard case .map(let members) = operand else { return nil }
      result.merge(members) { $1 }
    }
    return .map(result)
  }

  /// The object after `object_set`, `object_unset` or `object_rename`.
  ///
  /// It is MISSING if the key to set already exists, or the key to unset does not; a last argument of true
  /// allows that. A rename needs an old key that exists and a new key that does not.
  private static func changed(_ function: Function, _ members: [TextKey: Value], _ operands: [Value])
    -> Value?
  {
    guard case .string(let key) = operands[1] else { return nil }
    var members = members
    switch function {
    case .objectSet:
      guard members[key] == nil || operands.count > 3 && operands[3] == .bool(true) else { return nil }
      members[key] = operands[2]
    case .objectUnset:
      guard
        members.removeValue(forKey: TextKey(key)) != nil || operands.count > 2 && operands[2] == .bool(true)
      else {
        return nil
      }
    case .objectRename:
      guard case .string(let name) = operands[2], let value = members.removeValue(forKey: TextKey(key)),
        members[name] == nil
      else { return nil }
      members[name] = value
    default: return nil
    }
    return .map(members)
  }
}
