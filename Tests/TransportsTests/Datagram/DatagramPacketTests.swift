import Links
import Testing

@Suite struct DatagramPacketTests {
  private let tags = DatagramTags(sender: 0x0102_0304, receiver: 0x0506_0708)

  /// The bytes that version 1 has on the air; they never change.
  private static let golden: [(DatagramPacket, [UInt8])] = [
    (
      .hello(DatagramHello(tag: 0xAABB_CCDD, heard: 0x1122_3344, packetBytes: 180, window: 182, isMet: true)),
      [0xD1, 1, 1, 0, 0xAA, 0xBB, 0xCC, 0xDD, 0x11, 0x22, 0x33, 0x44, 0, 180, 182]
    ),
    (.data(DatagramSegment(number: 0x1_0203, bytes: [7, 8], isLast: false), nil), [0xD4, 2, 3, 7, 8]),
    (
      .data(
        DatagramSegment(number: 0x1_0005, bytes: [9], isLast: true),
        DatagramAcknowledgement(next: 258, credit: 12)),
      [0xD7, 0, 5, 1, 2, 12, 9]
    ),
    (
      .acknowledgement(DatagramAcknowledgement(next: 4, credit: 9, beyond: [0b101]), asks: true),
      [0xD9, 0, 4, 9, 0b101]
    ),
    (.close(inOrder: true), [0xDD]), (.close(inOrder: false), [0xDC]),
  ]

  @Test(arguments: golden.indices)
  func `has the documented bytes`(_ index: Int) throws {
    let (packet, expected) = Self.golden[index]
    let bytes = packet.encoded(tags)
    #expect(Array(bytes.dropLast(4)) == expected)
    #expect(try DatagramPacket(bytes, tags, awaited: (0x1_0200, 250)) == packet)
  }

  @Test func `the checksum covers the tags and the whole numbers`() {
    let packet = DatagramPacket.data(DatagramSegment(number: 5, bytes: [7, 8], isLast: false), nil)
    #expect(packet.encoded(tags) == [0xD4, 0, 5, 7, 8, 0xF7, 0x81, 0xA0, 0x4D])
    let bytes = packet.encoded(tags)
    for other in [
      DatagramTags(sender: 1, receiver: tags.receiver), DatagramTags(sender: tags.sender, receiver: 1),
      DatagramTags(sender: tags.receiver, receiver: tags.sender),
    ] {
      #expect(throws: DatagramFault.damaged) { try DatagramPacket(bytes, other, awaited: (0, 0)) }
    }
    #expect(throws: DatagramFault.damaged) { try DatagramPacket(bytes, tags, awaited: (65_536, 0)) }
  }

  @Test func `the checksum is CRC-32C`() {
    // The check value that its catalogues name.
    var checksum = Checksum32C()
    checksum.add(Array("123456789".utf8))
    #expect(checksum.value == 0xE306_9283)
    // RFC 3720, appendix B.4: 32 bytes of zeroes.
    var zeroes = Checksum32C()
    zeroes.add([UInt8](repeating: 0, count: 32))
    #expect(zeroes.value == 0x8A91_36AA)
  }

  @Test(arguments: [(0, 0), (40_000, 39_000), (65_535, 65_536), (1 << 40, (1 << 40) + 254), (70_000, 69_990)])
  func `numbers are those nearest to what is expected`(awaited: Int, sent: Int) throws {
    let packet = DatagramPacket.data(DatagramSegment(number: Int64(sent), bytes: [1], isLast: false), nil)
    #expect(try DatagramPacket(packet.encoded(tags), tags, awaited: (Int64(awaited), 0)) == packet)
  }

  @Test func `a hello of a later version may be longer`() throws {
    let hello = DatagramHello(tag: 3, heard: 0, packetBytes: 99, window: 4, isMet: false)
    let bytes = Array(DatagramPacket.hello(hello).encoded(.unknown).dropLast(4)) + [1, 2, 3]
    let longer = DatagramPacket.sealed(bytes, .unknown, (0, 0))
    #expect(try DatagramPacket(longer, .unknown, awaited: (0, 0)) == .hello(hello))
  }

  @Test func `no packet is longer than the smallest radio's, but for its data`() {
    let hello = DatagramHello(tag: .max, heard: .max, packetBytes: 16_384, window: 255, isMet: true)
    #expect(DatagramPacket.hello(hello).encoded(.unknown).count <= DatagramLimits.smallestPacket)
    #expect(DatagramPacket.dataOverhead < DatagramLimits.smallestPacket)
  }
}
