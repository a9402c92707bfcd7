import CRDTCore

/// Calls of functions that evaluate all their arguments.
extension ScalarProgram {
  func call(
    _ node: ScalarNode, _ index: Int, _ document: borrowing DocumentView, _ scratch: inout ScalarScratch
  ) throws(QueryError) -> Scalar {
    switch node.function {
    case .isMissingOrNull, .type, .lower, .upper, .byteLength, .charLength, .arrayLength, .arrayContainsNull:
      return try unaryCall(node.function, try scalar(index + 1, document, &scratch), document, &scratch)
    case .nullIf, .missingIf:
      let left = try scalar(index + 1, document, &scratch)
      let right = try scalar(Int(nodes.span[index + 1].end), document, &scratch)
      guard try compare(.equal, left, right, document, scratch).isTrue else { return left }
      return node.function == .nullIf ? .null : .missing
    case .contains, .startsWith, .endsWith, .arrayContains:
      let left = try scalar(index + 1, document, &scratch)
      let right = try scalar(Int(nodes.span[index + 1].end), document, &scratch)
      if left.isMissing || right.isMissing { return .missing }
      if left.isNull || right.isNull { return .null }
      if node.function == .arrayContains {
        return try arrayCall(.arrayContains, left, right, document, &scratch)
      }
      return search(node.function, left, right, document, scratch)
    default: break
    }
    var operands: [Scalar] = []
    var child = index + 1
    while child < node.end {
      operands.append(try scalar(child, document, &scratch))
      child = Int(nodes.span[child].end)
    }
    switch node.function {
    case .concat, .substr:
      if operands.contains(where: \.isMissing) { return .missing }
      if operands.contains(where: \.isNull) { return .null }
      return try node.function == .concat
        ? concatenate(operands, document, &scratch) : substring(operands, document, &scratch)
    default: break
    }
    var values: [Value?] = []
    values.reserveCapacity(operands.count)
    for operand in operands { values.append(try value(of: operand, document, scratch)) }
    let result = try scratch.withEvaluator(scope) { (evaluator) throws(QueryError) in
      try evaluator.eager(node.function, values)
    }
    return scratch.scalar(of: result)
  }

  private func unaryCall(
    _ function: Function, _ operand: Scalar, _ document: borrowing DocumentView,
    _ scratch: inout ScalarScratch
  ) throws(QueryError) -> Scalar {
    switch function {
    case .isMissingOrNull: return Scalar(operand.isMissing || operand.isNull)
    case .type: return scratch.scalar(of: .string(Self.typeName(operand.kind)))
    default: break
    }
    if operand.isMissing { return .missing }
    if operand.isNull { return .null }
    switch function {
    case .arrayLength, .arrayContainsNull:
      return try arrayCall(function, operand, .missing, document, &scratch)
    case .byteLength:
      guard operand.kind == .string || operand.kind == .bytes else { return .missing }
      return Scalar(Int64(operand.range.count))
    case .charLength:
      guard operand.kind == .string else { return .missing }
      return Scalar(Int64(bytes(of: operand, document, scratch).scalarCount))
    default:
      guard operand.kind == .string else { return .missing }
      return try changingCase(operand, toUpper: function == .upper, document, &scratch)
    }
  }

  private static func typeName(_ kind: Scalar.Kind) -> String {
    switch kind {
    case .missing: Evaluator.typeName(nil)
    case .null: Evaluator.typeName(.null)
    case .bool: Evaluator.typeName(.bool(true))
    case .int, .counter: Evaluator.typeName(.int(0))
    case .double: Evaluator.typeName(.double(0))
    case .string: Evaluator.typeName(.string(""))
    case .bytes: Evaluator.typeName(.bytes([]))
    case .array: Evaluator.typeName(.array([]))
    case .object, .attachment: Evaluator.typeName(.map([:]))
    case .decimal: Evaluator.typeName(.decimal(.zero))
    }
  }

  /// Converts ASCII letter by letter, and other texts by the rules of Unicode, as owned strings.
  private func changingCase(
    _ operand: Scalar, toUpper: Bool, _ document: borrowing DocumentView, _ scratch: inout ScalarScratch
  ) throws(QueryError) -> Scalar {
    guard bytes(of: operand, document, scratch).isASCII else {
      guard case .string(let text) = try value(of: operand, document, scratch) else { return .missing }
      let start = scratch.bytes.count
      if toUpper {
        let changed = text.uppercased()
        try scratch.charge(changed.utf8.count)
        return scratch.scalar(of: .string(changed))
      }
      text.withUTF8Bytes { scratch.append(lowercased: $0) }
      try scratch.charge(scratch.bytes.count - start)
      return scratch.string(from: start)
    }
    try scratch.charge(operand.range.count)
    let start = scratch.bytes.count
    append(operand, document, &scratch)
    let first = UInt8(ascii: toUpper ? "a" : "A")
    scratch.change(from: start) { $0 &- first < 26 ? $0 ^ 0x20 : $0 }
    return scratch.string(from: start)
  }

  private func append(
    _ operand: Scalar, _ document: borrowing DocumentView, _ scratch: inout ScalarScratch
  ) {
    switch operand.place {
    case .record: scratch.append(document.record.bytes.extracting(operand.range))
    case .id: scratch.append(document.id.extracting(operand.range))
    case .constants: scratch.append(text.span.bytes.extracting(operand.range))
    case .scratch: scratch.append(copyOf: operand.range)
    case .none, .box, .constantBox: break
    }
  }

  private func search(
    _ function: Function, _ subject: Scalar, _ sought: Scalar, _ document: borrowing DocumentView,
    _ scratch: borrowing ScalarScratch
  ) -> Scalar {
    guard subject.kind == .string, sought.kind == .string else { return .missing }
    let text = bytes(of: subject, document, scratch)
    let sought = bytes(of: sought, document, scratch)
    switch function {
    case .startsWith: return Scalar(text.hasPrefix(sought))
    case .endsWith: return Scalar(text.hasSuffix(sought))
    default: return Scalar(text.contains(sought))
    }
  }

  private func concatenate(
    _ operands: [Scalar], _ document: borrowing DocumentView, _ scratch: inout ScalarScratch
  ) throws(QueryError) -> Scalar {
    let start = scratch.bytes.count
    for operand in operands {
      guard operand.kind == .string else { return .missing }
      try scratch.charge(operand.range.count)
      append(operand, document, &scratch)
    }
    return scratch.string(from: start)
  }

  /// `substr(s, start[, length])`: a part of the text, referred to in place.
  private func substring(
    _ operands: [Scalar], _ document: borrowing DocumentView, _ scratch: inout ScalarScratch
  ) throws(QueryError) -> Scalar {
    let subject = operands[0]
    guard subject.kind == .string, let start = operands[1].wholeNumber else { return .missing }
    var length: Int64?
    if operands.count > 2 {
      length = operands[2].wholeNumber
      guard length != nil else { return .missing }
    }
    guard let part = bytes(of: subject, document, scratch).part(from: start, length) else { return .missing }
    try scratch.charge(part.count)
    let begin = subject.range.lowerBound + part.lowerBound
    return Scalar(.string, begin..<begin + part.count, in: subject.place)
  }
}

/// UTF-8 in place.
extension RawSpan {
  var isASCII: Bool {
    var offset = 0
    while byteCount - offset >= 8 {
      let word = unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)
      if word & 0x8080_8080_8080_8080 != 0 { return false }
      offset += 8
    }
    while offset < byteCount {
      if unsafe unsafeLoad(fromByteOffset: offset, as: UInt8.self) & 0x80 != 0 { return false }
      offset += 1
    }
    return true
  }

  /// The number of Unicode scalars.
  var scalarCount: Int {
    if isASCII { return byteCount }
    var count = 0
    for offset in 0..<byteCount
    where unsafe unsafeLoad(fromByteOffset: offset, as: UInt8.self) & 0xC0 != 0x80 { count += 1 }
    return count
  }

  /// The bytes of the scalars from `start` on; a negative start counts from the end.
  ///
  /// It is `nil` for a start outside of the text, and for a negative length.
  fileprivate func part(from start: Int64, _ length: Int64?) -> Range<Int>? {
    let count = Int64(scalarCount)
    let first = start < 0 ? count.addingReportingOverflow(start).partialValue : start
    guard (0...count).contains(first), length ?? 0 >= 0 else { return nil }
    let begin = offset(ofScalar: Int(first))
    let rest = extracting(begin..<byteCount)
    return begin..<begin + rest.offset(ofScalar: Int(Swift.min(length ?? count, count - first)))
  }

  /// The offset of the scalar with this number; the end for the number after the last.
  private func offset(ofScalar number: Int) -> Int {
    if isASCII { return Swift.min(number, byteCount) }
    var seen = 0
    for offset in 0..<byteCount
    where unsafe unsafeLoad(fromByteOffset: offset, as: UInt8.self) & 0xC0 != 0x80 {
      if seen == number { return offset }
      seen += 1
    }
    return byteCount
  }
}
