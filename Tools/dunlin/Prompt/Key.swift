/// What a user pressed.
enum Key: Hashable {
  case text(String)
  case enter, tab, escape, backspace, delete
  case left, right, up, down, home, end, wordLeft, wordRight
  /// A letter together with Control, as a small letter.
  case control(Character)
  /// A letter together with Alt.
  case alt(Character)
}

/// Makes keys of a terminal's bytes, of which a sequence may come in pieces.
struct KeyDecoder {
  private var pending: [UInt8] = []

  /// Takes bytes, and gives the keys that are whole.
  mutating func decode(_ bytes: [UInt8]) -> [Key] {
    pending += bytes
    var keys: [Key] = []
    while let (key, count) = Self.first(of: pending) {
      pending.removeFirst(count)
      if let key { keys.append(key) }
    }
    return keys
  }

  /// What waits is an Escape that nothing followed.
  mutating func flush() -> [Key] {
    defer { pending = [] }
    return pending == [0x1B] ? [.escape] : []
  }

  /// The key that the bytes begin with, and how many bytes it takes; the key is `nil` if none is known.
  private static func first(of bytes: [UInt8]) -> (Key?, Int)? {
    guard let first = bytes.first else { return nil }
    switch first {
    case 0x0D, 0x0A: return (.enter, 1)
    case 0x09: return (.tab, 1)
    case 0x7F, 0x08: return (.backspace, 1)
    case 0x1B: return sequence(bytes)
    case 0x01...0x1A: return (.control(Character(UnicodeScalar(first + 0x60))), 1)
    case 0x00, 0x1C...0x1F: return (nil, 1)
    default: return character(bytes, first)
    }
  }

  private static func character(_ bytes: [UInt8], _ first: UInt8) -> (Key?, Int)? {
    let count = first < 0x80 ? 1 : max(1, (~first).leadingZeroBitCount)
    guard count <= 4 else { return (nil, 1) }
    guard bytes.count >= count else { return nil }
    guard let text = String(validating: bytes.prefix(count), as: UTF8.self) else { return (nil, 1) }
    return (.text(text), count)
  }

  /// `ESC [ 1 ; 5 C` and its kin, and `ESC` with a letter for Alt.
  private static func sequence(_ bytes: [UInt8]) -> (Key?, Int)? {
    guard bytes.count > 1 else { return nil }
    guard bytes[1] == UInt8(ascii: "[") || bytes[1] == UInt8(ascii: "O") else {
      let isLetter = bytes[1] < 0x80 && Character(UnicodeScalar(bytes[1])).isLetter
      return isLetter ? (.alt(Character(UnicodeScalar(bytes[1] | 0x20))), 2) : (.escape, 1)
    }
    guard let last = bytes[2...].firstIndex(where: { (0x40...0x7E).contains($0) }) else {
      // No terminal sends more than that.
      return bytes.count > 16 ? (nil, bytes.count) : nil
    }
    let numbers = String(decoding: bytes[2..<last], as: UTF8.self)
    return (named(bytes[last], numbers), last + 1)
  }

  private static func named(_ letter: UInt8, _ numbers: String) -> Key? {
    // 5 is Control, and 3 is Alt.
    let jumps = numbers.hasSuffix(";5") || numbers.hasSuffix(";3")
    switch (Character(UnicodeScalar(letter)), numbers) {
    case ("A", _): return .up
    case ("B", _): return .down
    case ("C", _): return jumps ? .wordRight : .right
    case ("D", _): return jumps ? .wordLeft : .left
    case ("H", _), ("~", "1"), ("~", "7"): return .home
    case ("F", _), ("~", "4"), ("~", "8"): return .end
    case ("~", "3"): return .delete
    default: return nil
    }
  }
}
