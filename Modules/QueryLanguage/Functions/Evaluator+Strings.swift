import CRDTCore

extension FunctionDefinition {
  /// The functions of strings.
  ///
  /// Positions, lengths and widths count Unicode scalars, from zero.
  static let strings: [FunctionDefinition] = [
    .init(
      .concat, [.string], arity: 1...Int.max, inPlace: .call(.concat),
      on: .values { (evaluator, operands) throws(QueryError) in try evaluator.concatenated(operands) }),
    .init(
      .contains, [.string, .string], inPlace: .call(.contains),
      on: .texts { _, text, sought in
        .bool(ByteSearch(Array(sought.utf8)).firstMatch(in: Array(text.utf8)) != nil)
      }),
    .init(
      .startsWith, [.string, .string], inPlace: .call(.startsWith),
      on: .texts { _, text, sought in .bool(text.utf8.starts(with: sought.utf8)) }),
    .init(
      .endsWith, [.string, .string], inPlace: .call(.endsWith),
      on: .texts { _, text, sought in .bool(text.utf8.reversed().starts(with: sought.utf8.reversed())) }),
    .init(
      .byteLength, [.bytes], inPlace: .call(.byteLength),
      on: .values { _, operands in Evaluator.byteLength(operands[0]) }),
    .init(
      .charLength, aliases: ["character_length"], [.string], inPlace: .call(.charLength),
      on: .text { _, text, _ in .int(Int64(text.unicodeScalars.count)) }),
    .init(
      .lower, [.string], inPlace: .call(.lower),
      on: .text { (evaluator, text, _) throws(QueryError) in try evaluator.made(text.lowercased()) }),
    .init(
      .upper, [.string], inPlace: .call(.upper),
      on: .text { (evaluator, text, _) throws(QueryError) in try evaluator.made(text.uppercased()) }),
    .init(
      .substr, [.string, .integer, .integer], arity: 2...3, inPlace: .call(.substr),
      on: .text { (evaluator, text, operands) throws(QueryError) in try evaluator.substring(text, operands) }),
    .init(
      .position, aliases: ["position"], [.string, .string],
      on: .texts { _, text, sought in .int(Evaluator.position(of: sought, in: text)) }),
    .init(
      .split, [.string, .string],
      on: .texts { (evaluator, text, sought) throws(QueryError) in try evaluator.split(text, at: sought) }),
    .init(
      .joinString, [.string, .strings], arity: 2...Int.max,
      on: .values { (evaluator, operands) throws(QueryError) in try evaluator.joined(operands) }),
    .init(
      .leftTrim, [.string], arity: 1...2,
      on: .text { (evaluator, text, operands) throws(QueryError) in
        try evaluator.trimmed(text, operands, right: false)
      }),
    .init(
      .rightTrim, [.string], arity: 1...2,
      on: .text { (evaluator, text, operands) throws(QueryError) in
        try evaluator.trimmed(text, operands, left: false)
      }),
    .init(
      .trim, [.string], arity: 1...2,
      on: .text { (evaluator, text, operands) throws(QueryError) in try evaluator.trimmed(text, operands) }),
    .init(
      .leftPad, [.string, .integer, .string], arity: 2...3,
      on: .text { (evaluator, text, operands) throws(QueryError) in
        try evaluator.padded(text, operands, left: true)
      }),
    .init(
      .rightPad, [.string, .integer, .string], arity: 2...3,
      on: .text { (evaluator, text, operands) throws(QueryError) in
        try evaluator.padded(text, operands, left: false)
      }),
    .init(
      .repeat, [.string, .integer],
      on: .text { (evaluator, text, operands) throws(QueryError) in try evaluator.repeated(text, operands[1])
      }),
    .init(
      .regexpLike, [.string], arity: 2...3, inPlace: .regular,
      on: .values { (evaluator, operands) throws(QueryError) in try evaluator.regular(operands) }),
  ]
}

extension Evaluator {
  fileprivate static func byteLength(_ operand: Value) -> Value? {
    switch operand {
    case .string(let text): .int(Int64(text.utf8.count))
    case .bytes(let bytes): .int(Int64(bytes.count))
    default: nil
    }
  }

  fileprivate mutating func made(_ text: String) throws(QueryError) -> Value {
    try charge(text.utf8.count)
    return .string(text)
  }

  fileprivate mutating func concatenated(_ operands: [Value]) throws(QueryError) -> Value? {
    var result = ""
    for operand in operands {
      guard case .string(let text) = operand else { return nil }
      try charge(text.utf8.count)
      result += text
    }
    return .string(result)
  }

  /// `joinstr(separator, …)`: joins strings, and arrays of strings.
  fileprivate mutating func joined(_ operands: [Value]) throws(QueryError) -> Value? {
    guard case .string(let separator) = operands[0] else { return nil }
    var parts: [String] = []
    for operand in operands.dropFirst() {
      let elements: [Value] = if case .array(let elements) = operand { elements } else { [operand] }
      for element in elements {
        guard case .string(let part) = element else { return nil }
        try charge(part.utf8.count + separator.utf8.count)
        parts.append(part)
      }
    }
    return .string(parts.joined(separator: separator))
  }

  /// The number of scalars before the first match; -1 without one.
  fileprivate static func position(of sought: String, in text: String) -> Int64 {
    let bytes = Array(text.utf8)
    guard let offset = ByteSearch(Array(sought.utf8)).firstMatch(in: bytes) else { return -1 }
    return Int64(bytes[..<offset].count { $0 & 0xC0 != 0x80 })
  }

  fileprivate mutating func split(_ text: String, at separator: String) throws(QueryError) -> Value? {
    guard !separator.isEmpty else { return nil }
    let bytes = Array(text.utf8)
    let search = ByteSearch(Array(separator.utf8))
    try charge(bytes.count)
    var parts: [Value] = []
    var start = 0
    while let match = search.firstMatch(in: bytes, from: start) {
      try charge(MemoryLayout<Value>.stride)
      parts.append(.string(String(decoding: bytes[start..<match], as: UTF8.self)))
      start = match + search.length
    }
    parts.append(.string(String(decoding: bytes[start...], as: UTF8.self)))
    return .array(parts)
  }

  /// `substr(s, start[, length])`: a part of a text.
  ///
  /// A negative start counts from the end; a start outside of the text gives MISSING.
  fileprivate mutating func substring(_ text: String, _ operands: [Value]) throws(QueryError) -> Value? {
    let scalars = text.unicodeScalars
    let count = scalars.count
    guard var start = operands[1].wholeNumber.flatMap({ Int(exactly: $0) }) else { return nil }
    if start < 0 { start = count.addingReportingOverflow(start).partialValue }
    guard (0...count).contains(start) else { return nil }
    var length = count - start
    if operands.count > 2 {
      guard let wanted = operands[2].wholeNumber, wanted >= 0 else { return nil }
      length = Int(min(Int64(length), wanted))
    }
    return try made(String(scalars.dropFirst(start).prefix(length)))
  }

  /// Removes white space, or the scalars of the second argument, from one end or both.
  fileprivate mutating func trimmed(
    _ text: String, _ operands: [Value], left: Bool = true, right: Bool = true
  ) throws(QueryError) -> Value? {
    var removed: Set<Unicode.Scalar>?
    if operands.count > 1 {
      guard case .string(let scalars) = operands[1] else { return nil }
      removed = Set(scalars.unicodeScalars)
    }
    var rest = text.unicodeScalars[...]
    let isRemoved = { (scalar: Unicode.Scalar) in removed?.contains(scalar) ?? scalar.properties.isWhitespace
    }
    if left { rest = rest.drop(while: isRemoved) }
    if right {
      while let last = rest.last, isRemoved(last) { rest.removeLast() }
    }
    return try made(String(rest))
  }

  /// `lpad(s, width[, fill])`; a longer text is cut to the width.
  fileprivate mutating func padded(
    _ text: String, _ operands: [Value], left: Bool
  ) throws(QueryError) -> Value? {
    guard let width = operands[1].wholeNumber.flatMap({ Int(exactly: $0) }), width >= 0 else { return nil }
    var fill = " "
    if operands.count > 2 {
      guard case .string(let given) = operands[2], !given.isEmpty else { return nil }
      fill = given
    }
    let count = text.unicodeScalars.count
    guard width > count else { return try made(String(text.unicodeScalars.prefix(width))) }
    let (times, rest) = (width - count).quotientAndRemainder(dividingBy: fill.unicodeScalars.count)
    let last = String(fill.unicodeScalars.prefix(rest))
    let bytes = times.multipliedReportingOverflow(by: fill.utf8.count)
    try charge(bytes.overflow ? .max : bytes.partialValue)
    try charge(text.utf8.count + last.utf8.count)
    let padding = String(repeating: fill, count: times) + last
    return .string(left ? padding + text : text + padding)
  }

  fileprivate mutating func repeated(_ text: String, _ count: Value) throws(QueryError) -> Value? {
    guard let count = count.wholeNumber, count >= 0 else { return nil }
    let bytes = Int64(text.utf8.count).multipliedReportingOverflow(by: count)
    try charge(bytes.overflow ? .max : Int(bytes.partialValue))
    return .string(text.isEmpty ? "" : String(repeating: text, count: Int(count)))
  }
}
