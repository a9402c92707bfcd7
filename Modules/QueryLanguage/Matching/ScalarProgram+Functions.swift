import CRDTCore

/// Calls of functions that evaluate all their arguments.
extension ScalarProgram {
  func call(
    _ form: ScalarNode.Call, _ node: ScalarNode, _ index: Int, _ document: borrowing DocumentView,
    _ scratch: inout ScalarScratch
  ) throws(QueryError) -> Scalar {
    switch form {
    case .isMissingOrNull:
      let operand = try scalar(index + 1, document, &scratch)
      return Scalar(operand.isMissing || operand.isNull)
    case .type:
      let operand = try scalar(index + 1, document, &scratch)
      return scratch.scalar(of: .string(Evaluator.typeName(Self.sample(of: operand.kind))))
    case .jsonType:
      let operand = try scalar(index + 1, document, &scratch)
      return scratch.scalar(of: .string(Evaluator.jsonTypeName(Self.sample(of: operand.kind))))
    case .lower, .upper:
      let operand = try scalar(index + 1, document, &scratch)
      return try changingCase(operand, toUpper: form == .upper, document, &scratch)
    case .byteLength:
      let operand = try scalar(index + 1, document, &scratch)
      guard operand.kind == .string || operand.kind == .bytes else { return operand.unfit }
      return Scalar(Int64(operand.range.count))
    case .charLength:
      let operand = try scalar(index + 1, document, &scratch)
      guard operand.kind == .string else { return operand.unfit }
      return Scalar(Int64(bytes(of: operand, document, scratch).scalarCount))
    case .arrayLength: return try arrayLength(try scalar(index + 1, document, &scratch), document, scratch)
    case .arrayContainsNull:
      return try arrayContainsNull(try scalar(index + 1, document, &scratch), document, &scratch)
    case .nullIf, .missingIf:
      let (left, right) = try pair(index, document, &scratch)
      guard try compare(.equal, left, right, document, scratch).isTrue else { return left }
      return form == .nullIf ? .null : .missing
    case .contains:
      let (left, right) = try pair(index, document, &scratch)
      return search(left, right, document, scratch) { text, sought in text.contains(sought) }
    case .startsWith:
      let (left, right) = try pair(index, document, &scratch)
      return search(left, right, document, scratch) { text, sought in text.hasPrefix(sought) }
    case .endsWith:
      let (left, right) = try pair(index, document, &scratch)
      return search(left, right, document, scratch) { text, sought in text.hasSuffix(sought) }
    case .arrayContains:
      let (left, right) = try pair(index, document, &scratch)
      return try arrayContains(left, right, document, &scratch)
    case .concat:
      return try concatenate(try operands(of: node, index, document, &scratch), document, &scratch)
    case .substr: return try substring(try operands(of: node, index, document, &scratch), document, &scratch)
    case .onValues: return try callOnValues(node, index, document, &scratch)
    }
  }

  private func callOnValues(
    _ node: ScalarNode, _ index: Int, _ document: borrowing DocumentView, _ scratch: inout ScalarScratch
  ) throws(QueryError) -> Scalar {
    let row = node.function.evaluation
    let operands = try operands(of: node, index, document, &scratch)
    guard !row.takesMissing else {
      var values: [Value?] = []
      values.reserveCapacity(operands.count)
      for operand in operands { values.append(try value(of: operand, document, scratch)) }
      let result = try scratch.withEvaluator(scope) { (evaluator) throws(QueryError) in
        evaluator.function = node.function
        return try evaluator.result(row, values)
      }
      return scratch.scalar(of: result)
    }
    var values: [Value] = []
    values.reserveCapacity(operands.count)
    for operand in operands {
      if let value = try value(of: operand, document, scratch) { values.append(value) }
    }
    if values.count < operands.count { return .missing }
    let result = try scratch.withEvaluator(scope) { (evaluator) throws(QueryError) in
      evaluator.function = node.function
      return try evaluator.result(row, present: &values)
    }
    return scratch.scalar(of: result)
  }

  private func pair(
    _ index: Int, _ document: borrowing DocumentView, _ scratch: inout ScalarScratch
  ) throws(QueryError) -> (Scalar, Scalar) {
    let left = try scalar(index + 1, document, &scratch)
    return (left, try scalar(Int(nodes.span[index + 1].end), document, &scratch))
  }

  private func operands(
    of node: ScalarNode, _ index: Int, _ document: borrowing DocumentView, _ scratch: inout ScalarScratch
  ) throws(QueryError) -> [Scalar] {
    var operands: [Scalar] = []
    var child = index + 1
    while child < node.end {
      operands.append(try scalar(child, document, &scratch))
      child = Int(nodes.span[child].end)
    }
    return operands
  }

  /// A value of a kind, by which types are named.
  private static func sample(of kind: Scalar.Kind) -> Value? {
    switch kind {
    case .missing: nil
    case .null: .null
    case .bool: .bool(true)
    case .int, .counter: .int(0)
    case .double: .double(0)
    case .string: .string("")
    case .bytes: .bytes([])
    case .array: .array([])
    case .object, .attachment: .map([:])
    case .decimal: .decimal(.zero)
    }
  }

  /// `lower(s)` and `upper(s)`.
  ///
  /// ASCII is converted letter by letter, and other texts by the rules of Unicode, as owned strings.
  private func changingCase(
    _ operand: Scalar, toUpper: Bool, _ document: borrowing DocumentView, _ scratch: inout ScalarScratch
  ) throws(QueryError) -> Scalar {
    guard operand.kind == .string else { return operand.unfit }
    guard bytes(of: operand, document, scratch).isASCII else {
      guard case .string(let text) = try value(of: operand, document, scratch) else { return .missing }
      let start = scratch.bytes.count
      if toUpper {
        let changed = text.uppercased()
        try scratch.charge(changed.utf8.count, .upper, scope.context)
        return scratch.scalar(of: .string(changed))
      }
      text.withUTF8Bytes { scratch.append(lowercased: $0) }
      try scratch.charge(scratch.bytes.count - start, .lower, scope.context)
      return scratch.string(from: start)
    }
    try scratch.charge(operand.range.count, toUpper ? .upper : .lower, scope.context)
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

  /// The result for operands of which one is MISSING or NULL.
  private static func unknown(of operands: [Scalar]) -> Scalar? {
    if operands.contains(where: \.isMissing) { return .missing }
    return operands.contains(where: \.isNull) ? .null : nil
  }

  /// A test of two strings by their bytes.
  @inline(__always)
  private func search(
    _ subject: Scalar, _ sought: Scalar, _ document: borrowing DocumentView,
    _ scratch: borrowing ScalarScratch, _ test: (RawSpan, RawSpan) -> Bool
  ) -> Scalar {
    guard subject.kind == .string, sought.kind == .string else { return Scalar.unfit(subject, sought) }
    return Scalar(test(bytes(of: subject, document, scratch), bytes(of: sought, document, scratch)))
  }

  /// `concat(s, …)`.
  private func concatenate(
    _ operands: [Scalar], _ document: borrowing DocumentView, _ scratch: inout ScalarScratch
  ) throws(QueryError) -> Scalar {
    if let unknown = Self.unknown(of: operands) { return unknown }
    let start = scratch.bytes.count
    for operand in operands {
      guard operand.kind == .string else { return .missing }
      try scratch.charge(operand.range.count, .concat, scope.context)
      append(operand, document, &scratch)
    }
    return scratch.string(from: start)
  }

  /// `substr(s, start[, length])`: a part of the text, referred to in place.
  private func substring(
    _ operands: [Scalar], _ document: borrowing DocumentView, _ scratch: inout ScalarScratch
  ) throws(QueryError) -> Scalar {
    if let unknown = Self.unknown(of: operands) { return unknown }
    let subject = operands[0]
    guard subject.kind == .string, let start = operands[1].wholeNumber else { return .missing }
    var length: Int64?
    if operands.count > 2 {
      length = operands[2].wholeNumber
      guard length != nil else { return .missing }
    }
    guard let part = bytes(of: subject, document, scratch).part(from: start, length) else { return .missing }
    try scratch.charge(part.count, .substr, scope.context)
    let begin = subject.range.lowerBound + part.lowerBound
    return Scalar(.string, begin..<begin + part.count, in: subject.place)
  }
}

extension Scalar {
  /// The result of a function for an operand of another type: NULL for NULL, otherwise MISSING.
  var unfit: Scalar { isNull ? .null : .missing }

  /// The result for two operands of which one has another type; MISSING decides before NULL.
  static func unfit(_ left: Scalar, _ right: Scalar) -> Scalar {
    if left.isMissing || right.isMissing { return .missing }
    return left.isNull || right.isNull ? .null : .missing
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
