import CRDTCore

/// Functions of strings. Positions, lengths and widths count Unicode scalars, from zero.
extension Evaluator {
  mutating func string(_ function: Function, _ operands: [Value]) throws(QueryError) -> Value? {
    if function == .byteLength, case .bytes(let bytes) = operands[0] { return .int(Int64(bytes.count)) }
    if function == .joinString { return try join(operands) }
    guard case .string(let text) = operands[0] else { return nil }
    switch function {
    case .byteLength: return .int(Int64(text.utf8.count))
    case .charLength: return .int(Int64(text.unicodeScalars.count))
    case .lower: return try made(text.lowercased())
    case .upper: return try made(text.uppercased())
    case .concat: return try concatenate(operands)
    case .contains, .startsWith, .endsWith, .position, .split: return try search(function, text, operands[1])
    case .substr: return try substring(text, operands)
    case .trim, .leftTrim, .rightTrim: return try trim(function, text, operands)
    case .leftPad, .rightPad: return try pad(function, text, operands)
    case .repeat: return try repeated(text, operands[1])
    default: return nil
    }
  }

  private mutating func made(_ text: String) throws(QueryError) -> Value {
    try charge(text.utf8.count)
    return .string(text)
  }

  private mutating func concatenate(_ operands: [Value]) throws(QueryError) -> Value? {
    var result = ""
    for operand in operands {
      guard case .string(let text) = operand else { return nil }
      try charge(text.utf8.count)
      result += text
    }
    return .string(result)
  }

  /// `joinstr(separator, …)`: joins strings, and arrays of strings.
  private mutating func join(_ operands: [Value]) throws(QueryError) -> Value? {
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

  private mutating func search(
    _ function: Function, _ text: String, _ sought: Value
  ) throws(QueryError) -> Value? {
    guard case .string(let sought) = sought else { return nil }
    switch function {
    case .startsWith: return .bool(text.utf8.starts(with: sought.utf8))
    case .endsWith: return .bool(text.utf8.reversed().starts(with: sought.utf8.reversed()))
    default: break
    }
    let bytes = Array(text.utf8)
    let search = ByteSearch(Array(sought.utf8))
    switch function {
    case .contains: return .bool(search.firstMatch(in: bytes) != nil)
    case .position:
      guard let offset = search.firstMatch(in: bytes) else { return .int(-1) }
      return .int(Int64(bytes[..<offset].count { $0 & 0xC0 != 0x80 }))
    case .split:
      guard !sought.isEmpty else { return nil }
      try charge(bytes.count)
      var parts: [Value] = []
      var start = 0
      while let match = search.firstMatch(in: bytes, from: start) {
        parts.append(.string(String(decoding: bytes[start..<match], as: UTF8.self)))
        start = match + search.length
      }
      parts.append(.string(String(decoding: bytes[start...], as: UTF8.self)))
      return .array(parts)
    default: return nil
    }
  }

  /// `substr(s, start[, length])`: a part of a text.
  ///
  /// A negative start counts from the end; a start outside of the text gives MISSING.
  private mutating func substring(_ text: String, _ operands: [Value]) throws(QueryError) -> Value? {
    let scalars = Array(text.unicodeScalars)
    guard var start = operands[1].wholeNumber.flatMap({ Int(exactly: $0) }) else { return nil }
    if start < 0 { start = scalars.count.addingReportingOverflow(start).partialValue }
    guard (0...scalars.count).contains(start) else { return nil }
    var length = scalars.count - start
    if operands.count > 2 {
      guard let wanted = operands[2].wholeNumber, wanted >= 0 else { return nil }
      length = Int(min(Int64(length), wanted))
    }
    return try made(Self.string(of: scalars[start..<start + length]))
  }

  /// Removes white space, or the scalars of the second argument, from one end or both.
  private mutating func trim(
    _ function: Function, _ text: String, _ operands: [Value]
  ) throws(QueryError) -> Value? {
    var removed: Set<Unicode.Scalar>?
    if operands.count > 1 {
      guard case .string(let scalars) = operands[1] else { return nil }
      removed = Set(scalars.unicodeScalars)
    }
    var rest = text.unicodeScalars[...]
    let isRemoved = { (scalar: Unicode.Scalar) in removed?.contains(scalar) ?? scalar.properties.isWhitespace
    }
    if function != .rightTrim { rest = rest.drop(while: isRemoved) }
    if function != .leftTrim {
      while let last = rest.last, isRemoved(last) { rest.removeLast() }
    }
    return try made(String(rest))
  }

  /// `lpad(s, width[, fill])`; a longer text is cut to the width.
  private mutating func pad(
    _ function: Function, _ text: String, _ operands: [Value]
  ) throws(QueryError) -> Value? {
    guard let width = operands[1].wholeNumber.flatMap({ Int(exactly: $0) }), width >= 0 else { return nil }
    var fill: [Unicode.Scalar] = [" "]
    if operands.count > 2 {
      guard case .string(let given) = operands[2], !given.isEmpty else { return nil }
      fill = Array(given.unicodeScalars)
    }
    let scalars = Array(text.unicodeScalars)
    guard width > scalars.count else { return try made(Self.string(of: scalars[..<width])) }
    try charge(width)
    let padding = (0..<width - scalars.count).map { fill[$0 % fill.count] }
    return try made(Self.string(of: (function == .leftPad ? padding + scalars : scalars + padding)[...]))
  }

  private mutating func repeated(_ text: String, _ count: Value) throws(QueryError) -> Value? {
    guard let count = count.wholeNumber, count >= 0 else { return nil }
    let bytes = Int64(text.utf8.count).multipliedReportingOverflow(by: count)
    try charge(bytes.overflow ? .max : Int(bytes.partialValue))
    return .string(text.isEmpty ? "" : String(repeating: text, count: Int(count)))
  }

  private static func string(of scalars: ArraySlice<Unicode.Scalar>) -> String {
    var view = String.UnicodeScalarView()
    view.append(contentsOf: scalars)
    return String(view)
  }
}

/// Finds one byte string in others, in time linear in both.
///
/// Source: Knuth, Morris and Pratt, "Fast Pattern Matching in Strings", SIAM Journal on Computing 1977.
struct ByteSearch {
  private let pattern: [UInt8]
  /// For each prefix of the pattern, the longest border: the length that still matches after a mismatch.
  private let borders: [Int]

  init(_ pattern: [UInt8]) {
    var borders = [Int](repeating: 0, count: pattern.count)
    var border = 0
    for index in pattern.indices.dropFirst() {
      while border > 0, pattern[index] != pattern[border] { border = borders[border - 1] }
      if pattern[index] == pattern[border] { border += 1 }
      borders[index] = border
    }
    self.pattern = pattern
    self.borders = borders
  }

  var length: Int { pattern.count }

  /// The start of the first match at or after `start`.
  func firstMatch(in bytes: [UInt8], from start: Int = 0) -> Int? {
    if pattern.isEmpty { return start }
    var matched = 0
    for index in start..<max(start, bytes.count) {
      while matched > 0, bytes[index] != pattern[matched] { matched = borders[matched - 1] }
      if bytes[index] == pattern[matched] { matched += 1 }
      if matched == pattern.count { return index + 1 - matched }
    }
    return nil
  }
}
