import CRDTCore

/// Reads the values that ``IndexKeyWriter`` wrote, one after the other.
///
/// The bytes may be damaged or cut. Then it reports that there is no further value.
struct IndexKeyReader: ~Escapable {
  private let bytes: RawSpan
  /// Where the next value begins.
  private(set) var offset = 0
  /// The mask that flips the bytes of a descending field.
  private var mask: UInt8 = 0

  @_lifetime(copy bytes)
  init(_ bytes: RawSpan) { self.bytes = bytes }

  /// Skips one field's value.
  ///
  /// - Returns: Whether the value was complete.
  mutating func skip(descending: Bool) -> Bool {
    mask = descending ? .max : 0
    return skipValue()
  }

  /// Reads one field's value, `nil` for MISSING, into `value`.
  ///
  /// - Returns: Whether the value can be read: an array, an object or an attachment cannot.
  mutating func read(_ value: inout Value?, descending: Bool, _ kind: NumberKind) -> Bool {
    mask = descending ? .max : 0
    guard let byte = next(), let tag = IndexKeyWriter.Tag(rawValue: byte) else { return false }
    switch tag {
    case .no: value = .bool(false)
    case .yes: value = .bool(true)
    case .notANumber: value = .double(.nan)
    case .negative, .positive:
      guard let number = readNumber(isNegative: tag == .negative, kind) else { return false }
      value = number
    case .string:
      guard let text = readText() else { return false }
      value = .string(String(decoding: text, as: UTF8.self))
    case .binary:
      guard let text = readText() else { return false }
      value = .bytes(text)
    case .null: value = .null
    case .missing: value = nil
    case .array, .object, .attachment: return false
    }
    return true
  }

  private var byte: UInt8? {
    guard offset < bytes.byteCount else { return nil }
    return unsafe bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt8.self) ^ mask
  }

  private mutating func next() -> UInt8? {
    guard let byte else { return nil }
    offset += 1
    return byte
  }

  // Values are nested at most as deep as there are bytes in a key.
  private mutating func skipValue() -> Bool {
    guard let byte = next(), let tag = IndexKeyWriter.Tag(rawValue: byte) else { return false }
    switch tag {
    case .no, .yes, .notANumber, .null, .missing: return true
    case .negative: return skipMagnitude(flip: .max)
    case .positive: return skipMagnitude(flip: 0)
    case .binary, .string: return skipText()
    case .array: return skipElements()
    case .object: return skipMembers()
    case .attachment:
      guard skipText(), bytes.byteCount - offset > 8 else { return false }
      offset += 8
      return next() == IndexKeyWriter.Tag.object.rawValue && skipMembers()
    }
  }

  private mutating func skipMagnitude(flip: UInt8) -> Bool {
    while let byte = next() {
      if (byte ^ flip) & 1 == 0 { return true }
    }
    return false
  }

  private mutating func readNumber(isNegative: Bool, _ kind: NumberKind) -> Value? {
    let flip: UInt8 = isNegative ? .max : 0
    var word: UInt64 = 0
    var rest: UInt64 = 0
    var place: UInt64 = 0
    while let byte = next() {
      let bits = UInt64((byte ^ flip) >> 1)
      switch place {
      case 0..<9: word |= bits << (57 - 7 * place)
      case 9: rest = bits << 3
      case 10: rest |= bits >> 4
      default: return nil
      }
      place += 1
      if (byte ^ flip) & 1 == 0 { return kind.value(Double(bitPattern: word >> 1), rest, isNegative) }
    }
    return nil
  }

  private mutating func readText() -> [UInt8]? {
    var text: [UInt8] = []
    while let byte = next() {
      switch byte {
      case 0: return text
      case 1:
        guard let escaped = next(), escaped > 0 else { return nil }
        text.append(escaped - 1)
      default: text.append(byte)
      }
    }
    return nil
  }

  private mutating func skipText() -> Bool {
    while let byte = next() {
      if byte == 0 { return true }
    }
    return false
  }

  private mutating func skipElements() -> Bool {
    while byte != IndexKeyWriter.end {
      guard skipValue() else { return false }
    }
    offset += 1
    return true
  }

  private mutating func skipMembers() -> Bool {
    while let byte = next() {
      if byte == IndexKeyWriter.end { return true }
      guard byte == IndexKeyWriter.member, skipText(), skipValue() else { return false }
    }
    return false
  }
}
