import CRDTCore

/// Why a packet is unusable.
package enum DatagramFault: Error, Hashable, Sendable {
  /// It was damaged on its way, or belongs to another link.
  case damaged
  /// It arrived intact and violates the protocol.
  case malformed(String)
  /// The other end no longer answers.
  case unanswered(String)
  /// The other end has closed the link.
  case closed
}

extension DatagramPacket {
  /// The first byte of each kind; the lowest bits are flags.
  private enum Kind {
    static let hello: UInt8 = 0xD0
    static let data: UInt8 = 0xD4
    static let acknowledgement: UInt8 = 0xD8
    static let close: UInt8 = 0xDC
  }

  /// Bytes of the checksum.
  private static let checksumBytes = 4
  /// Bytes of a data packet besides the data, when it carries an acknowledgement.
  package static let dataOverhead = 10
  /// Bytes of an acknowledgement besides the packets that it names one by one.
  package static let acknowledgementOverhead = 8

  // MARK: - Writing

  /// Encodes the packet, from the end that `tags` names as sender.
  package func encoded(_ tags: DatagramTags) -> [UInt8] {
    var out: [UInt8] = []
    var numbers = (data: Int64(0), next: Int64(0))
    switch self {
    case .hello(let hello):
      out = [Kind.hello | (hello.isMet ? 1 : 0), hello.versions.lowerBound, hello.versions.upperBound, 0]
      out.append(bigEndian: hello.tag)
      out.append(bigEndian: hello.heard)
      out.append(bigEndian: UInt16(hello.packetBytes))
      out.append(UInt8(hello.window))
      return Self.sealed(out, .unknown, numbers)
    case .data(let segment, let acknowledgement):
      out.reserveCapacity(segment.bytes.count + Self.dataOverhead)
      out.append(Kind.data | (acknowledgement == nil ? 0 : 1) | (segment.isLast ? 2 : 0))
      out.append(bigEndian: UInt16(truncatingIfNeeded: segment.number))
      numbers.data = segment.number
      if let acknowledgement {
        out.append(acknowledgement)
        numbers.next = acknowledgement.next
      }
      out += segment.bytes
    case .acknowledgement(let acknowledgement, let asks):
      out.append(Kind.acknowledgement | (asks ? 1 : 0))
      out.append(acknowledgement)
      out += acknowledgement.beyond
      numbers.next = acknowledgement.next
    case .close(let inOrder): out.append(Kind.close | (inOrder ? 1 : 0))
    }
    return Self.sealed(out, tags, numbers)
  }

  /// Appends their checksum to `bytes`.
  package static func sealed(
    _ bytes: [UInt8], _ tags: DatagramTags, _ numbers: (data: Int64, next: Int64)
  ) -> [UInt8] {
    var out = bytes
    out.append(bigEndian: checksum(bytes[...], tags, numbers))
    return out
  }

  private static func checksum(
    _ bytes: ArraySlice<UInt8>, _ tags: DatagramTags, _ numbers: (data: Int64, next: Int64)
  ) -> UInt32 {
    var checksum = Checksum32C()
    checksum.add(UInt64(tags.sender) << 32 | UInt64(tags.receiver))
    checksum.add(UInt64(bitPattern: numbers.data))
    checksum.add(UInt64(bitPattern: numbers.next))
    checksum.add(bytes)
    return checksum.value
  }

  // MARK: - Reading

  /// Whether the packet looks like a hello, which can be read before the ends have met.
  package static func isHello(_ packet: [UInt8]) -> Bool { packet.first.map { $0 & 0xFC } == Kind.hello }

  /// Reads a packet from an untrusted end.
  ///
  /// - Parameters:
  ///   - packet: The bytes that arrived.
  ///   - tags: The other end's tag and this one's.
  ///   - awaited: The next expected data packet, and the oldest unacknowledged one. Full numbers are those
  ///     nearest to them.
  /// - Throws: `damaged` when the checksum is wrong; `malformed` when the bytes are intact and invalid.
  package init(
    _ packet: [UInt8], _ tags: DatagramTags, awaited: (data: Int64, next: Int64)
  ) throws(DatagramFault) {
    guard packet.count > Self.checksumBytes, let kind = packet.first else { throw .damaged }
    let body = packet[..<(packet.count - Self.checksumBytes)]
    var numbers = (data: Int64(0), next: Int64(0))
    let (hasNumber, hasAcknowledgement) =
      switch kind & 0xFC {
      case Kind.data: (true, kind & 1 == 1)
      case Kind.acknowledgement: (false, true)
      default: (false, false)
      }
    var rest = body.dropFirst()
    if hasNumber {
      guard let low: UInt16 = rest.popBigEndian() else { throw .damaged }
      numbers.data = awaited.data.nearest(endingIn: low)
    }
    var acknowledgement: DatagramAcknowledgement?
    if hasAcknowledgement {
      guard let low: UInt16 = rest.popBigEndian(), let credit = rest.popFirst() else { throw .damaged }
      numbers.next = awaited.next.nearest(endingIn: low)
      acknowledgement = DatagramAcknowledgement(next: numbers.next, credit: Int(credit))
    }
    var seal = packet.suffix(Self.checksumBytes)
    let isHello = kind & 0xFC == Kind.hello
    let expected = Self.checksum(body, isHello ? .unknown : tags, numbers)
    guard seal.popBigEndian() == expected, numbers.data >= 0, numbers.next >= 0 else { throw .damaged }
    self = try Self.packet(kind, rest, number: numbers.data, acknowledgement)
  }

  /// Interprets bytes that arrived intact.
  private static func packet(
    _ kind: UInt8, _ rest: ArraySlice<UInt8>, number: Int64, _ acknowledgement: DatagramAcknowledgement?
  ) throws(DatagramFault) -> DatagramPacket {
    switch (kind & 0xFC, acknowledgement) {
    case (Kind.hello, _) where kind & 2 == 0: return .hello(try hello(rest, isMet: kind & 1 == 1))
    case (Kind.data, _):
      let segment = DatagramSegment(number: number, bytes: Array(rest), isLast: kind & 2 == 2)
      guard segment.isLast || !segment.bytes.isEmpty else { throw .malformed("a packet of data has none") }
      return .data(segment, acknowledgement)
    case (Kind.acknowledgement, var acknowledgement?) where kind & 2 == 0:
      guard rest.last != 0 else { throw .malformed("an acknowledgement is longer than it needs to be") }
      acknowledgement.beyond = Array(rest)
      return .acknowledgement(acknowledgement, asks: kind & 1 == 1)
    case (Kind.close, _) where kind & 2 == 0 && rest.isEmpty: return .close(inOrder: kind & 1 == 1)
    default: throw .malformed("a packet is of the unknown kind \(kind) or has \(rest.count) bytes too many")
    }
  }

  /// Reads a hello; ignores what later versions append.
  private static func hello(
    _ bytes: ArraySlice<UInt8>, isMet: Bool
  ) throws(DatagramFault) -> DatagramHello {
    var rest = bytes
    guard let lowest = rest.popFirst(), let highest = rest.popFirst(), rest.popFirst() != nil,
      let tag: UInt32 = rest.popBigEndian(), let heard: UInt32 = rest.popBigEndian(),
      let packetBytes: UInt16 = rest.popBigEndian(), let window = rest.popFirst()
    else { throw .malformed("a hello is too short") }
    guard lowest <= highest, tag != 0 else { throw .malformed("a hello has no version or no tag") }
    guard packetBytes >= DatagramLimits.smallestPacket, window > 0 else {
      throw .malformed("a hello takes packets of \(packetBytes) bytes, \(window) at once")
    }
    var hello = DatagramHello(
      tag: tag, heard: heard, packetBytes: Int(packetBytes), window: Int(window), isMet: isMet)
    hello.versions = lowest...highest
    return hello
  }
}

extension Int64 {
  /// The number nearest to this one whose lowest 16 bits are `low`; below 0 when there is none.
  fileprivate func nearest(endingIn low: UInt16) -> Int64 {
    self + Int64(Int16(bitPattern: low &- UInt16(truncatingIfNeeded: self)))
  }
}

extension [UInt8] {
  fileprivate mutating func append(bigEndian number: some FixedWidthInteger) {
    for shift in stride(from: number.bitWidth - 8, through: 0, by: -8) {
      append(UInt8(truncatingIfNeeded: number >> shift))
    }
  }

  fileprivate mutating func append(_ acknowledgement: DatagramAcknowledgement) {
    append(bigEndian: UInt16(truncatingIfNeeded: acknowledgement.next))
    append(UInt8(acknowledgement.credit))
  }
}

extension ArraySlice<UInt8> {
  /// Removes a number from the front; `nil` when there are too few bytes.
  fileprivate mutating func popBigEndian<Number: FixedWidthInteger>() -> Number? {
    let width = Number.bitWidth / 8
    guard count >= width else { return nil }
    defer { removeFirst(width) }
    return prefix(width).reduce(0) { $0 << 8 | Number(truncatingIfNeeded: $1) }
  }
}
