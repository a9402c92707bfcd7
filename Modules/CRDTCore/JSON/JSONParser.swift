/// Reads one JSON text in one pass over its bytes (RFC 8259); every read is checked.
struct JSONParser: ~Escapable {
  let bytes: RawSpan
  let options: JSON.ReadOptions
  /// The offset of the next byte; never past the end.
  var offset = 0
  /// The number of containers around the next byte.
  private var depth = 0
  /// How deeply containers may be nested: one level more inside a map, which may be a document's own.
  private var deepest = Limits.depth
  /// The offset of the first container that is too deep; it is allowed if it belongs to a tag.
  private var tooDeep: Int?
  /// The members of the maps that are still open, innermost last.
  private var members: [Member] = []

  private struct Member {
    let key: TextKey
    let value: Value
  }

  @_lifetime(copy bytes)
  init(_ bytes: RawSpan, options: JSON.ReadOptions) {
    self.bytes = bytes
    self.options = options
  }

  /// The byte at `offset`; at the end 0, which JSON text may not contain outside a string.
  var current: UInt8 {
    @inline(__always) get { offset < bytes.byteCount ? byte(at: offset) : 0 }
  }

  @inline(__always)
  func byte(at position: Int) -> UInt8 {
    // SAFETY: every bit pattern is a UInt8, and the load checks its bounds.
    unsafe bytes.unsafeLoad(fromByteOffset: position, as: UInt8.self)
  }

  mutating func parseDocument() throws(JSONError) -> Value {
    if bytes.byteCount >= 3, byte(at: 0) == 0xEF, byte(at: 1) == 0xBB, byte(at: 2) == 0xBF {
      offset = 3  // a byte order mark, which RFC 8259 lets a reader ignore
    }
    skipSpace()
    if current == UInt8(ascii: "{") { deepest += 1 }
    let value = try parseValue()
    if let tooDeep { throw depthError(at: tooDeep) }
    skipSpace()
    guard offset == bytes.byteCount else { throw unexpected("the end of the text") }
    return value
  }

  private mutating func parseValue() throws(JSONError) -> Value {
    switch current {
    case UInt8(ascii: "\""):
      offset += 1
      return .string(try parseString())
    case UInt8(ascii: "{"): return try parseMap()
    case UInt8(ascii: "["): return try parseArray()
    case UInt8(ascii: "t"):
      try skip("true")
      return .bool(true)
    case UInt8(ascii: "f"):
      try skip("false")
      return .bool(false)
    case UInt8(ascii: "n"):
      try skip("null")
      return .null
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try parseNumber()
    default: throw unexpected("a value")
    }
  }

  private mutating func parseMap() throws(JSONError) -> Value {
    let start = offset
    try open()
    let base = members.count
    if base == 0 { members.reserveCapacity(32) }  // growing step by step costs more than the room
    skipSpace()
    if current != UInt8(ascii: "}") {
      while true {
        guard current == UInt8(ascii: "\"") else { throw unexpected("a key in double quotes") }
        offset += 1
        let key = TextKey(try parseString())
        skipSpace()
        guard current == UInt8(ascii: ":") else { throw unexpected("':' after a key") }
        offset += 1
        skipSpace()
        members.append(Member(key: key, value: try parseValue()))
        skipSpace()
        if current == UInt8(ascii: "}") { break }
        guard current == UInt8(ascii: ",") else { throw unexpected("',' or '}' after a member") }
        offset += 1
        skipSpace()
      }
    }
    close()
    if options.interpretsTags, members.count == base + 1, JSONTag.isTag(members[base].key) {
      let member = members.removeLast()
      if let tag = JSONTag(rawValue: member.key.text) {
        if let place = tooDeep, place >= start { tooDeep = nil }
        return try tag.value(of: member.value, at: start)
      }
      return .map([TextKey(String(member.key.text.dropFirst())): member.value])
    }
    return .map(try takeMembers(from: base, at: start))
  }

  /// Returns the open map's members, which are in `members` from `base` on, as a dictionary of that size.
  private mutating func takeMembers(from base: Int, at start: Int) throws(JSONError) -> [TextKey: Value] {
    var map = [TextKey: Value](minimumCapacity: members.count - base)
    while members.count > base {
      let member = members.removeLast()
      guard map.updateValue(member.value, forKey: member.key) == nil else {
        throw JSONError(.duplicateKey, "expected each key once in the map that starts here", at: start)
      }
    }
    return map
  }

  private mutating func parseArray() throws(JSONError) -> Value {
    try open()
    skipSpace()
    var elements: [Value] = []
    if current != UInt8(ascii: "]") {
      while true {
        elements.append(try parseValue())
        skipSpace()
        if current == UInt8(ascii: "]") { break }
        guard current == UInt8(ascii: ",") else { throw unexpected("',' or ']' after an element") }
        offset += 1
        skipSpace()
      }
    }
    close()
    return .array(elements)
  }

  private mutating func open() throws(JSONError) {
    if depth >= deepest {
      tooDeep = tooDeep ?? offset
      guard options.interpretsTags, depth < deepest + JSONTag.levels else {
        throw depthError(at: tooDeep ?? offset)
      }
    }
    depth += 1
    offset += 1
  }

  private func depthError(at offset: Int) -> JSONError {
    JSONError(.depth, "expected at most \(Limits.depth) levels of maps and arrays", at: offset)
  }

  private mutating func close() {
    depth -= 1
    offset += 1
  }

  @inline(__always)
  mutating func skipSpace() {
    // One comparison is enough in the usual case: all four kinds of space are at most " ".
    while offset < bytes.byteCount, byte(at: offset) <= 0x20 {
      switch byte(at: offset) {
      case 0x20, 0x09, 0x0A, 0x0D: offset += 1
      default: return
      }
    }
  }

  mutating func skip(_ word: StaticString) throws(JSONError) {
    for index in 0..<word.utf8CodeUnitCount {
      // SAFETY: the index is below the literal's own count.
      let expected = unsafe word.utf8Start[index]
      guard current == expected else { throw unexpected("the word \(word)") }
      offset += 1
    }
  }

  /// Returns the error that `expected` is missing at `offset`, or that the text ends there.
  func unexpected(_ expected: String) -> JSONError {
    offset < bytes.byteCount
      ? JSONError(.syntax, "expected \(expected)", at: offset)
      : JSONError(.truncated, "expected \(expected), but the text ends", at: offset)
  }
}
