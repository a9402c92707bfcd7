/// A JSON document as a list of members, as a record needs them, without making values.
///
/// It accepts the common documents of a collection: maps whose keys the table has, strings, numbers, and
/// arrays of these. For all others `take` returns `false`, and the general reader, which also reports
/// mistakes, must read them.
struct JSONTape {
  /// A field, or a key of a nested map.
  struct Member {
    let key: ExpectedKey
    var kind = Kind.null
    /// A number's or boolean's bits; the offset of text or canonical bytes; a map's place in `order`.
    var content: UInt64 = 0
    /// The length of a text or of canonical bytes; the number of members of a map.
    var count = 0
    /// The map of this member, and the member before it in that map; -1 for the first.
    var map = 0
    var previous = -1

    @inline(__always)
    mutating func set(_ kind: Kind, _ content: UInt64, _ count: Int) {
      self.kind = kind
      self.content = content
      self.count = count
    }
  }

  /// A key with everything that a record needs of it.
  struct ExpectedKey {
    let id: UInt16
    let rank: UInt16
    let hash: HashLanes
    /// The range of its name in `names`.
    let name: Range<Int>
  }

  enum Kind { case null, bool, int, double, textInPlace, textAside, array, map }

  private(set) var members: [Member] = []
  /// Texts that had escapes, and arrays in their canonical encoding.
  private(set) var aside: [UInt8] = []
  /// The members of each map in the order of their keys, one map after another.
  private(set) var order: [Int] = []
  /// The order of the last document; most often this document has the same.
  private var lastOrder: [Int] = []
  private(set) var root = (place: 0, count: 0)
  /// The range of the text of `_id` in the JSON.
  private(set) var idRange = 0..<0
  private(set) var mapCount = 0
  /// The total length of the texts that are used in place in the JSON.
  private(set) var textBytes = 0
  /// The keys of the last document in their original order; most often the next document has the same.
  private var expected: [ExpectedKey] = []
  private var names: [UInt8] = []
  private var position = 0
  /// The table that `expected` refers to.
  private var table = KeyTable()

  /// Deeper documents are left to the general reader.
  private static let depth = 16

  /// Splits a document into members.
  ///
  /// - Returns: `false` for a document that this type does not handle, whether it is correct or not.
  mutating func take(_ text: RawSpan, keys: KeyTable) -> Bool {
    members.removeAll(keepingCapacity: true)
    aside.removeAll(keepingCapacity: true)
    swap(&order, &lastOrder)
    order.removeAll(keepingCapacity: true)
    // Another table may have other ids, and one that has grown may have other ranks.
    if !table.isIdentical(to: keys) {
      table = keys
      forget(from: 0)
    }
    (idRange, position, mapCount, textBytes) = (0..<0, 0, 0, 0)
    guard text.byteCount < RecordLayout.longLength, text.isUTF8 else { return false }
    var parser = JSONParser(text, options: .init())
    parser.skipSpace()
    guard parser.current == UInt8(ascii: "{") else { return false }
    do {
      guard let root = try takeMap(&parser, depth: 1) else { return false }
      self.root = root
    } catch {
      return false
    }
    parser.skipSpace()
    return parser.offset == text.byteCount && !idRange.isEmpty
  }

  /// Reads a map from its brace on.
  private mutating func takeMap(
    _ parser: inout JSONParser, depth: Int
  ) throws(JSONError) -> (place: Int, count: Int)? {
    guard depth <= Self.depth else { return nil }
    mapCount += 1
    let map = mapCount
    parser.offset += 1
    parser.skipSpace()
    var last = -1
    var count = 0
    if parser.current == UInt8(ascii: "}") {
      parser.offset += 1
      return (order.count, 0)
    }
    while true {
      guard parser.current == UInt8(ascii: "\"") else { return nil }
      parser.offset += 1
      let start = parser.offset
      parser.skipPlainText()
      let name = parser.bytes.extracting(start..<parser.offset)
      guard parser.current == UInt8(ascii: "\"") else { return nil }
      parser.offset += 1
      parser.skipSpace()
      guard parser.current == UInt8(ascii: ":") else { return nil }
      parser.offset += 1
      parser.skipSpace()
      if depth == 1, name.isIDKey {
        guard takeID(&parser) else { return nil }
      } else {
        guard let key = key(name) else { return nil }
        var member = Member(key: key)
        guard try takeValue(&parser, &member, depth: depth) else { return nil }
        // The members of inner maps come before it.
        (member.map, member.previous) = (map, last)
        last = members.count
        members.append(member)
        count += 1
      }
      parser.skipSpace()
      let byte = parser.current
      parser.offset += 1
      if byte == UInt8(ascii: "}") {
        guard count <= RecordLayout.idKeys, let place = sort(map, count, from: last) else { return nil }
        return (place, count)
      }
      guard byte == UInt8(ascii: ",") else { return nil }
      parser.skipSpace()
    }
  }

  /// Puts a map's members in the order of their keys; `nil` when two keys are the same.
  private mutating func sort(_ map: Int, _ count: Int, from last: Int) -> Int? {
    let base = order.count
    if isOrdered(lastOrder, from: base, map, count) {
      order.append(contentsOf: lastOrder[base..<base + count])
      return base
    }
    var next = last
    while next >= 0 {
      let rank = members[next].key.rank
      var place = order.count
      order.append(next)
      while place > base, members[order[place - 1]].key.rank >= rank {
        if members[order[place - 1]].key.rank == rank { return nil }
        order[place] = order[place - 1]
        place -= 1
      }
      order[place] = next
      next = members[next].previous
    }
    return base
  }

  /// Whether the `count` places from `base` on are all the map's members, in the order of their keys.
  private func isOrdered(_ places: [Int], from base: Int, _ map: Int, _ count: Int) -> Bool {
    guard base + count <= places.count else { return false }
    var rank = -1
    for place in places[base..<base + count] {
      guard place < members.count, members[place].map == map, Int(members[place].key.rank) > rank else {
        return false
      }
      rank = Int(members[place].key.rank)
    }
    return true
  }

  /// Returns a key that the table has; `nil` for any other.
  private mutating func key(_ name: RawSpan) -> ExpectedKey? {
    defer { position += 1 }
    if position < expected.count {
      let key = expected[position]
      if isExpected(key, name) { return key }
      forget(from: position)
    }
    // A key that begins like this may be a tag.
    guard name.byteCount > 0, name.byte(at: 0) != UInt8(ascii: "$"), let found = table.find(name) else {
      return nil
    }
    let start = names.count
    unsafe name.withUnsafeBytes { unsafe names.append(contentsOf: $0) }
    let key = ExpectedKey(
      id: found.id, rank: table.rank(of: found.id), hash: found.hash, name: start..<names.count)
    if position == expected.count { expected.append(key) }
    return key
  }

  private func isExpected(_ key: ExpectedKey, _ name: RawSpan) -> Bool {
    names.span.bytes.extracting(key.name).isEqual(to: name)
  }

  private mutating func forget(from position: Int) {
    names.removeLast(names.count - (position < expected.count ? expected[position].name.lowerBound : 0))
    expected.removeLast(expected.count - position)
  }

  private mutating func takeID(_ parser: inout JSONParser) -> Bool {
    guard idRange.isEmpty, parser.current == UInt8(ascii: "\"") else { return false }
    parser.offset += 1
    let start = parser.offset
    parser.skipPlainText()
    guard parser.current == UInt8(ascii: "\""), parser.offset > start,
      parser.offset - start < Limits.documentIDBytes
    else { return false }
    idRange = start..<parser.offset
    parser.offset += 1
    return true
  }

  private mutating func takeValue(
    _ parser: inout JSONParser, _ member: inout Member, depth: Int
  ) throws(JSONError) -> Bool {
    switch parser.current {
    case UInt8(ascii: "\""):
      parser.offset += 1
      let start = parser.offset
      parser.skipPlainText()
      if parser.current == UInt8(ascii: "\"") {
        member.set(.textInPlace, UInt64(start), parser.offset - start)
        textBytes += parser.offset - start
        parser.offset += 1
      } else {
        parser.offset = start
        let start = aside.count
        aside.append(contentsOf: try parser.parseString().utf8)
        member.set(.textAside, UInt64(start), aside.count - start)
      }
    case UInt8(ascii: "{"):
      guard let map = try takeMap(&parser, depth: depth + 1) else { return false }
      member.set(.map, UInt64(map.place), map.count)
    case UInt8(ascii: "["):
      let start = aside.count
      guard try takeArray(&parser, depth: depth + 1) else { return false }
      member.set(.array, UInt64(start), aside.count - start)
    case UInt8(ascii: "t"):
      try parser.skip("true")
      member.set(.bool, 1, 0)
    case UInt8(ascii: "f"):
      try parser.skip("false")
      member.set(.bool, 0, 0)
    case UInt8(ascii: "n"): try parser.skip("null")
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
      switch try parser.parseNumber() {
      case .int(let value): member.set(.int, UInt64(bitPattern: value), 0)
      case .double(let value): member.set(.double, ValueCodec.canonicalBits(value), 0)
      default: return false
      }
    default: return false
    }
    return true
  }

  /// Appends an array's canonical encoding to `aside`; arrays that contain maps are refused.
  private mutating func takeArray(_ parser: inout JSONParser, depth: Int) throws(JSONError) -> Bool {
    guard depth <= Self.depth else { return false }
    parser.offset += 1
    aside.append(ValueCodec.Tag.array.rawValue)
    let place = aside.count
    aside.append(0)
    var count = 0
    parser.skipSpace()
    if parser.current == UInt8(ascii: "]") {
      parser.offset += 1
      return true
    }
    while true {
      guard try takeElement(&parser, depth: depth) else { return false }
      count += 1
      parser.skipSpace()
      let byte = parser.current
      parser.offset += 1
      if byte == UInt8(ascii: "]") { break }
      guard byte == UInt8(ascii: ",") else { return false }
      parser.skipSpace()
    }
    // A larger count would need more than the one byte that was reserved for it.
    guard count < 0x80 else { return false }
    aside[place] = UInt8(count)
    return true
  }

  private mutating func takeElement(_ parser: inout JSONParser, depth: Int) throws(JSONError) -> Bool {
    switch parser.current {
    case UInt8(ascii: "\""):
      parser.offset += 1
      let start = parser.offset
      parser.skipPlainText()
      guard parser.current == UInt8(ascii: "\"") else { return false }
      aside.append(ValueCodec.Tag.string.rawValue)
      append(varint: UInt64(parser.offset - start))
      unsafe parser.bytes.extracting(start..<parser.offset).withUnsafeBytes {
        unsafe aside.append(contentsOf: $0)
      }
      parser.offset += 1
    case UInt8(ascii: "["): return try takeArray(&parser, depth: depth + 1)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
      guard case .int(let value) = try parser.parseNumber() else { return false }
      aside.append(ValueCodec.Tag.int.rawValue)
      append(varint: UInt64(bitPattern: (value << 1) ^ (value >> 63)))
    default: return false
    }
    return true
  }

  private mutating func append(varint value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      aside.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    aside.append(UInt8(truncatingIfNeeded: rest))
  }
}

extension RawSpan {
  /// Whether no byte is above 127.
  fileprivate var isASCII: Bool {
    var bits: UInt8 = 0
    for offset in 0..<byteCount { bits |= byte(at: offset) }
    return bits < 0x80
  }
}
