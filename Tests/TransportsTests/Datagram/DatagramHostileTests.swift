import Links
import TestKit
import Testing

/// Packets that nobody should send.
@Suite(.serialized, .timeLimit(.minutes(15))) struct DatagramHostileTests {
  /// Two ends that have met and have sent a little each way, and what the first one sends.
  private struct Met {
    var simulation: RadioSimulation
    let tags: DatagramTags

    init() throws {
      simulation = RadioSimulation(seed: 1)
      var hellos: [DatagramHello] = []
      simulation.tamper = { packet, _ in
        if case .hello(let hello)? = try? DatagramPacket(packet, .unknown, awaited: (0, 0)) {
          hellos.append(hello)
        }
      }
      simulation.ends[0].stream.write([pattern(1_000)])
      simulation.ends[1].stream.write([pattern(1_000)])
      try #require(simulation.run { $0.ends.allSatisfy { $0.received.count == 1_000 } })
      // Until all is acknowledged.
      _ = simulation.run(within: .seconds(1)) { _ in false }
      simulation.tamper = { _, _ in }
      let met = try #require(hellos.first { $0.heard != 0 })
      let isFirst = simulation.ends[0].stream.speaks(as: met.tag)
      tags =
        isFirst
        ? DatagramTags(sender: met.tag, receiver: met.heard)
        : DatagramTags(sender: met.heard, receiver: met.tag)
    }

    /// Has the second end receive a packet as if the first one had sent it.
    mutating func send(_ packet: DatagramPacket) { send(packet.encoded(tags)) }

    mutating func send(_ bytes: [UInt8]) {
      simulation.ends[1].stream.receive(bytes, at: simulation.now)
    }

    var error: LinkError? { simulation.ends[1].error(.inbound) }

    /// The number of the first end's next packet: 1,000 bytes went in packets of 170.
    static let next: Int64 = 6
  }

  private static let wrong: [(DatagramPacket, String)] = [
    (.data(DatagramSegment(number: 188, bytes: [1], isLast: false), nil), "those below 188 were granted"),
    (.data(DatagramSegment(number: 30_000, bytes: [1], isLast: false), nil), "packet 30000 came"),
    (.acknowledgement(DatagramAcknowledgement(next: 7, credit: 1), asks: false), "and 6 were sent"),
    (.acknowledgement(DatagramAcknowledgement(next: 6, credit: 183), asks: false), "183 packets are granted"),
    (
      .acknowledgement(DatagramAcknowledgement(next: 6, credit: 10, beyond: [1]), asks: false),
      "packet 7 is acknowledged"
    ),
    (.data(DatagramSegment(number: 6, bytes: [], isLast: false), nil), "a packet of data has none"),
    (
      .acknowledgement(DatagramAcknowledgement(next: 6, credit: 10, beyond: [0]), asks: false),
      "longer than it needs to be"
    ),
    (.close(inOrder: true), "over in order before both directions are"),
  ]

  @Test(arguments: wrong.indices)
  func `a packet against the rules ends the link with an error that says which`(_ index: Int) throws {
    var met = try Met()
    let (packet, reason) = Self.wrong[index]
    met.send(packet)
    #expect(met.error?.code == .malformed)
    #expect(met.error?.message.contains(reason) == true, "\(met.error.debugDescription)")
    // The other end hears that it is over.
    #expect(met.simulation.run(within: .seconds(5)) { $0.ends[0].stream.ends.count == 2 })
  }

  @Test func `data behind the end of the direction ends the link`() throws {
    for (last, other) in [(Int64(7), Int64(9)), (9, 12)] {
      var met = try Met()
      met.send(.data(DatagramSegment(number: last, bytes: [1], isLast: true), nil))
      expect(met.error == nil)
      met.send(.data(DatagramSegment(number: other, bytes: [1], isLast: false), nil))
      expectEqual(met.error?.message.contains("behind the end, which is packet \(last)"), true)
    }
    var met = try Met()
    met.send(.data(DatagramSegment(number: 9, bytes: [1], isLast: false), nil))
    met.send(.data(DatagramSegment(number: 7, bytes: [1], isLast: true), nil))
    #expect(met.error?.message.contains("packet 7 is the end, and packet 9 has come") == true)
  }

  @Test func `a packet that is too long ends the link`() throws {
    var met = try Met()
    met.send([UInt8](repeating: 0xD4, count: 181))
    #expect(met.error?.message.contains("a packet of 181 bytes came, and 180 are the most here") == true)
  }

  @Test func `an unknown kind with a right checksum ends the link`() throws {
    for kind in [0x00, 0xD2, 0xDA, 0xDE, 0xE0, 0xFF] as [UInt8] {
      var met = try Met()
      // The kinds that carry numbers hash them, which these do too.
      let isAcknowledgement = kind == 0xDA
      met.send(
        DatagramPacket.sealed(
          isAcknowledgement ? [kind, 0, 6, 1] : [kind],
          // What looks like a hello is hashed as one.
          kind & 0xFC == 0xD0 ? .unknown : met.tags, (0, isAcknowledgement ? 6 : 0)))
      expectEqual(met.error?.code, .malformed, "\(kind)")
    }
  }

  /// Flips every bit of every kind of packet: no wrong packet is ever delivered, and none traps.
  @Test func `a damaged packet is dropped, wherever it is damaged`() throws {
    let packets: [DatagramPacket] = [
      .data(
        DatagramSegment(number: Met.next, bytes: Array(0..<50), isLast: false),
        DatagramAcknowledgement(next: 6, credit: 9)),
      .data(DatagramSegment(number: Met.next, bytes: [7], isLast: true), nil),
      .acknowledgement(DatagramAcknowledgement(next: 6, credit: 3), asks: true), .close(inOrder: false),
    ]
    for packet in packets {
      var met = try Met()
      let bytes = packet.encoded(met.tags)
      for index in bytes.indices {
        for bit in 0..<8 {
          var damaged = bytes
          damaged[index] ^= 1 << bit
          met.send(damaged)
          // A good one in between: damage alone does not end the link.
          met.send(.acknowledgement(DatagramAcknowledgement(next: 6, credit: 3), asks: false))
          expect(met.simulation.ends[1].stream.ends.isEmpty, "byte \(index), bit \(bit)")
          expect(!met.simulation.ends[1].stream.hasReceived, "byte \(index), bit \(bit)")
        }
      }
      for count in bytes.indices { met.send(Array(bytes.prefix(count))) }
      expect(met.simulation.ends[1].stream.damagedPackets >= UInt64(8 * bytes.count))
    }
  }

  @Test func `nothing but damaged packets ends the link with an error that says so`() throws {
    var met = try Met()
    for _ in 0..<63 { met.send([1, 2, 3, 4, 5, 6]) }
    #expect(met.error == nil)
    met.send([1, 2, 3, 4, 5, 6])
    #expect(met.error?.message.contains("64 packets in a row") == true)
  }

  /// Whoever knows the tags can say anything; then each byte is changed and the checksum put right.
  @Test func `a peer that lies ends the link or is believed, and nothing traps`() async throws {
    var random = SeededGenerator(seed: 5)
    for round in 0..<100 {
      await Task.yield()
      var met = try Met()
      for _ in 0..<20 {
        let acknowledgement = DatagramAcknowledgement(
          next: Int64(random.int(below: 12)), credit: random.int(below: 256), beyond: random.bytes(below: 40))
        switch random.int(below: 4) {
        case 0:
          let number = Int64(random.int(below: 300))
          met.send(
            .data(
              DatagramSegment(
                number: number, bytes: random.bytes(below: 60), isLast: random.oneIn(4)),
              random.oneIn(2) ? acknowledgement : nil))
        case 1: met.send(.acknowledgement(acknowledgement, asks: random.oneIn(2)))
        case 2: met.send(DatagramPacket.sealed(random.bytes(below: 30), met.tags, (0, 0)))
        default: met.send(random.bytes(below: 200))
        }
      }
      let held = met.simulation.ends[1].stream.heldPackets
      expect(held <= 2 * DatagramLimits.window, "round \(round)")
      if let error = met.error { expect([.malformed, .disconnected].contains(error.code), "\(error)") }
    }
  }

  @Test func `packets of an earlier link are dropped`() throws {
    var met = try Met()
    let old = DatagramTags(sender: met.tags.sender &+ 1, receiver: met.tags.receiver)
    met.send(
      DatagramPacket.data(DatagramSegment(number: Met.next, bytes: [9], isLast: false), nil).encoded(old))
    met.send(DatagramPacket.close(inOrder: false).encoded(old))
    #expect(!met.simulation.ends[1].stream.hasReceived)
    #expect(met.error == nil)
    // One that is 65,536 packets late looks the same but for its checksum.
    met.send(
      .data(DatagramSegment(number: Met.next + 65_536, bytes: [9], isLast: false), nil))
    #expect(!met.simulation.ends[1].stream.hasReceived)
    #expect(met.error == nil)
  }

  @Test func `a hello that makes no sense ends the link before it begins`() {
    func error(_ change: (inout DatagramHello) -> Void) -> LinkError? {
      var stream = DatagramStream(packetBytes: 180, tag: 7, name: "radio", at: .zero)
      var hello = DatagramHello(tag: 8, heard: 0, packetBytes: 180, window: 10, isMet: false)
      change(&hello)
      stream.receive(DatagramPacket.hello(hello).encoded(.unknown), at: .zero)
      return stream.ends[.inbound] ?? nil
    }
    #expect(error { _ in } == nil)
    let version = error { $0.versions = 2...9 }
    #expect(version?.message.contains("speaks the versions 2...9, this one 1...1") == true)
    #expect(error { $0.tag = 7 }?.message.contains("hands back what is sent here") == true)
    #expect(error { $0.packetBytes = 19 }?.message.contains("takes packets of 19 bytes") == true)
    #expect(error { $0.window = 0 }?.message.contains("0 at once") == true)
    #expect(error { $0.tag = 0 }?.message.contains("no version or no tag") == true)
  }
}
