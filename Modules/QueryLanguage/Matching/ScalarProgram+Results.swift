import CRDTCore

/// Keys of groups and of distinct rows, without owned values where possible.
extension ScalarProgram {
  /// Appends the value's ``KeyBytes``.
  package func appendKey(
    of scalar: Scalar, _ document: borrowing DocumentView, _ scratch: borrowing ScalarScratch,
    to key: inout [UInt8]
  ) throws(QueryError) {
    switch scalar.kind {
    case .missing: KeyBytes.append(nil, to: &key)
    case .bool: KeyBytes.append(scalar.bool, to: &key)
    case .int, .counter: KeyBytes.append(scalar.int, to: &key)
    case .double: KeyBytes.append(scalar.double, to: &key)
    case .string, .bytes:
      KeyBytes.append(bytes(of: scalar, document, scratch), isText: scalar.kind == .string, to: &key)
    case .null, .array, .object, .attachment, .decimal:
      KeyBytes.append(try value(of: scalar, document, scratch), to: &key)
    }
  }
}
