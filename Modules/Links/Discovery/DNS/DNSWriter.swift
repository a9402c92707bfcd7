/// Writes one packet of a message; names that were written before become pointers.
struct DNSWriter {
  private enum Section: Int { case question, answer, authority, additional }

  /// The highest position that a pointer can reach.
  private static let pointerLimit = 0x4000

  private var bytes: [UInt8] = []
  private var counts = [UInt16](repeating: 0, count: 4)
  /// The position of each name, and of each suffix of a name.
  private var places: [[[UInt8]]: Int] = [:]

  /// Starts a packet with a header.
  init(id: UInt16) {
    writeWord(id)
    bytes += [UInt8](repeating: 0, count: DNSMessage.headerBytes - 2)
  }

  var isEmpty: Bool { counts.allSatisfy { $0 == 0 } }

  /// Adds a question, unless the packet would have more than `limit` bytes.
  ///
  /// - Returns: Whether it was added; the first one always is.
  mutating func add(_ question: DNSMessage.Question, within limit: Int) -> Bool {
    add(to: .question, within: limit) { writer in
      writer.writeName(question.name)
      writer.writeWord(question.kind.rawValue)
      writer.writeWord(DNSMessage.internetClass | (question.wantsUnicast ? DNSMessage.topBit : 0))
    }
  }

  /// Adds an answer, unless the packet would have more than `limit` bytes.
  mutating func add(answer record: DNSRecord, within limit: Int) -> Bool {
    add(to: .answer, within: limit) { $0.write(record) }
  }

  /// Adds a record to the additional section, unless the packet would have more than `limit` bytes.
  mutating func add(additional record: DNSRecord, within limit: Int) -> Bool {
    add(to: .additional, within: limit) { $0.write(record) }
  }

  /// The packet's bytes.
  func finish(isResponse: Bool, isTruncated: Bool) -> [UInt8] {
    var packet = bytes
    typealias Flags = DNSMessage.Flags
    // An answer is always authoritative.
    let flags = (isResponse ? Flags.response | Flags.authoritative : 0) | (isTruncated ? Flags.truncated : 0)
    for (place, word) in zip(stride(from: 2, to: DNSMessage.headerBytes, by: 2), [flags] + counts) {
      (packet[place], packet[place + 1]) = (UInt8(word >> 8), UInt8(word & 255))
    }
    return packet
  }

  private mutating func add(
    to section: Section, within limit: Int, _ write: (inout DNSWriter) -> Void
  ) -> Bool {
    var longer = self
    write(&longer)
    guard longer.bytes.count <= limit || isEmpty else { return false }
    longer.counts[section.rawValue] += 1
    self = longer
    return true
  }

  private mutating func writeWord(_ value: UInt16) { bytes += [UInt8(value >> 8), UInt8(value & 255)] }

  private mutating func writeName(_ name: DNSName, canPoint: Bool = true) {
    for start in name.labels.indices {
      let rest = Array(name.labels[start...])
      if canPoint, let place = places[rest] { return writeWord(UInt16(0xC000 | place)) }
      if bytes.count < Self.pointerLimit { places[rest] = bytes.count }
      bytes += [UInt8(name.labels[start].count)] + name.labels[start]
    }
    bytes.append(0)
  }

  private mutating func write(_ record: DNSRecord) {
    writeName(record.name)
    writeWord(record.kind.rawValue)
    writeWord(DNSMessage.internetClass | (record.isUnique ? DNSMessage.topBit : 0))
    writeWord(UInt16(record.timeToLive >> 16))
    writeWord(UInt16(record.timeToLive & 0xFFFF))
    let place = bytes.count
    writeWord(0)
    switch record.contents {
    case .a(let data), .aaaa(let data), .other(_, let data): bytes += data
    case .ptr(let target): writeName(target)
    case .srv(let host, let port):
      for word in [0, 0, port] { writeWord(word) }
      // Resolvers other than those of multicast DNS do not follow a pointer here (RFC 2782).
      writeName(host, canPoint: false)
    case .txt(let strings):
      // A record without strings contains one empty string (RFC 6763, 6.1).
      for string in strings.isEmpty ? [[]] : strings {
        bytes += [UInt8(min(string.count, 255))] + string.prefix(255)
      }
    case .nsec(let kinds):
      writeName(record.name, canPoint: false)
      var bits = [UInt8](repeating: 0, count: 1 + Int((kinds.map(\.rawValue).max() ?? 0) / 8))
      for kind in kinds { bits[Int(kind.rawValue) / 8] |= 0x80 >> (kind.rawValue % 8) }
      bytes += [0, UInt8(bits.count)] + bits
    }
    let count = UInt16(bytes.count - place - 2)
    (bytes[place], bytes[place + 1]) = (UInt8(count >> 8), UInt8(count & 255))
  }
}

extension DNSMessage {
  /// Encodes the message in as many packets as it needs; additional records that do not fit are left out.
  ///
  /// - Parameter limit: The size of a packet in bytes; a single larger record makes a larger packet.
  /// - Returns: The packets, at least one.
  /// - Complexity: O(*n*) packets of O(*limit*²) bytes, since a record is tried in a copy of its packet.
  func packets(within limit: Int = DNSMessage.packetBytes) -> [[UInt8]] {
    var packets: [[UInt8]] = []
    var writer = DNSWriter(id: id)
    func next(_ isTruncated: Bool) {
      packets.append(writer.finish(isResponse: isResponse, isTruncated: isTruncated))
      writer = DNSWriter(id: id)
    }
    for question in questions {
      if writer.add(question, within: limit) { continue }
      next(false)
      _ = writer.add(question, within: limit)
    }
    for record in answers {
      if writer.add(answer: record, within: limit) { continue }
      // Known answers continue in a further packet, which has no question.
      next(!isResponse)
      _ = writer.add(answer: record, within: limit)
    }
    for record in additional {
      guard writer.add(additional: record, within: limit) else { break }
    }
    next(isTruncated)
    return packets
  }

  /// The message's bytes in one packet of any size.
  var bytes: [UInt8] { packets(within: .max).first ?? [] }
}
