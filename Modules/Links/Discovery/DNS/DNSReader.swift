/// Reads a message's bytes from the beginning; names may point back.
struct DNSReader {
  private let bytes: [UInt8]
  private(set) var offset = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  var remaining: Int { bytes.count - offset }

  mutating func readWord() -> UInt16? {
    guard remaining >= 2 else { return nil }
    defer { offset += 2 }
    return UInt16(bytes[offset]) << 8 | UInt16(bytes[offset + 1])
  }

  mutating func readBytes(_ count: Int) -> [UInt8]? {
    guard count >= 0, remaining >= count else { return nil }
    defer { offset += count }
    return Array(bytes[offset..<offset + count])
  }

  /// Reads a name, and moves the offset behind it.
  ///
  /// Each pointer must lead to a position before the start of the part that it ends, so a name cannot loop.
  /// - Complexity: O(*n*) in the name's bytes, 255 at most.
  mutating func readName() -> DNSName? {
    var labels: [[UInt8]] = []
    var (place, start, total) = (offset, offset, 1)
    var end: Int?
    while place < bytes.count {
      let length = Int(bytes[place])
      switch length {
      case 0:
        offset = end ?? place + 1
        return DNSName(labels)
      case 1...DNSName.labelBytes:
        total += length + 1
        guard place + 1 + length <= bytes.count, total <= DNSName.nameBytes,
          labels.count < DNSName.labelLimit
        else { return nil }
        labels.append(Array(bytes[place + 1..<place + 1 + length]))
        place += 1 + length
      case 0xC0...0xFF:
        guard place + 1 < bytes.count else { return nil }
        let target = (length & 0x3F) << 8 | Int(bytes[place + 1])
        guard target < start else { return nil }
        end = end ?? place + 2
        (place, start) = (target, target)
      default: return nil
      }
    }
    return nil
  }
}

extension DNSMessage {
  /// Reads a message.
  ///
  /// - Returns: `nil` when the format is invalid; records of other classes are skipped.
  /// - Complexity: O(*n*) in the bytes and in the names, of which there are at most ``recordLimit`` or twice
  ///   that.
  init?(_ bytes: [UInt8]) {
    guard Self.headerBytes...Self.byteLimit ~= bytes.count else { return nil }
    var reader = DNSReader(bytes)
    guard let id = reader.readWord(), let flags = reader.readWord(), flags & Flags.operationAndError == 0
    else {
      return nil
    }
    self.id = id
    isResponse = flags & Flags.response != 0
    isTruncated = flags & Flags.truncated != 0
    let counts = (0..<4).compactMap { _ in reader.readWord() }.map(Int.init)
    guard counts.count == 4, counts.reduce(0, +) <= Self.recordLimit else { return nil }
    for _ in 0..<counts[0] {
      guard let name = reader.readName(), let kind = reader.readWord(), let place = reader.readWord() else {
        return nil
      }
      guard [Self.internetClass, Self.anyClass].contains(place & ~Self.topBit) else { continue }
      questions.append(
        Question(name: name, kind: DNSRecord.Kind(rawValue: kind), wantsUnicast: place & Self.topBit != 0))
    }
    for section in 1...3 {
      for _ in 0..<counts[section] {
        guard let record = Self.record(&reader) else { return nil }
        // The second section is for names that a host is about to claim. This peer has no use for it.
        guard case .some(let record) = record, section != 2 else { continue }
        if section == 1 { answers.append(record) } else { additional.append(record) }
      }
    }
  }

  /// Reads a record; `.some(nil)` for one of another class, `nil` when the format is invalid.
  private static func record(_ reader: inout DNSReader) -> DNSRecord?? {
    guard let name = reader.readName(), let number = reader.readWord(), let place = reader.readWord(),
      let high = reader.readWord(), let low = reader.readWord(), let count = reader.readWord(),
      reader.remaining >= Int(count)
    else { return nil }
    let end = reader.offset + Int(count)
    guard
      let contents = contents(of: DNSRecord.Kind(rawValue: number), Int(count), &reader),
      reader.offset == end
    else { return nil }
    guard place & ~topBit == internetClass else { return .some(nil) }
    return DNSRecord(
      name: name, contents: contents, timeToLive: UInt32(high) << 16 | UInt32(low),
      isUnique: place & topBit != 0)
  }

  private static func contents(
    of kind: DNSRecord.Kind, _ count: Int, _ reader: inout DNSReader
  ) -> DNSRecord.Contents? {
    switch kind {
    case .a: return count == 4 ? reader.readBytes(count).map { .a($0) } : nil
    case .aaaa: return count == 16 ? reader.readBytes(count).map { .aaaa($0) } : nil
    case .ptr: return reader.readName().map { .ptr($0) }
    case .srv:
      // Priority and weight distinguish several hosts of one instance, and here there is only one.
      guard reader.readWord() != nil, reader.readWord() != nil, let port = reader.readWord(),
        let host = reader.readName()
      else { return nil }
      return .srv(host: host, port: port)
    case .txt: return reader.readBytes(count).flatMap(strings).map { .txt($0) }
    default: return reader.readBytes(count).map { .other(kind, $0) }
    }
  }

  /// The strings of a text record.
  ///
  /// A record without bytes has one empty string (RFC 6763, 6.1).
  private static func strings(_ data: [UInt8]) -> [[UInt8]]? {
    var (strings, offset): ([[UInt8]], Int) = ([], 0)
    while offset < data.count {
      let end = offset + 1 + Int(data[offset])
      guard end <= data.count else { return nil }
      strings.append(Array(data[offset + 1..<end]))
      offset = end
    }
    return strings.isEmpty ? [[]] : strings
  }
}
