import Foundation
import TestKit
import Testing

@testable import Links

@Suite struct DNSMessageTests {
  private static let name = DNSName(known: "abc", "_dunlin", "_tcp", "local")
  private static let host = DNSName(known: "abc", "local")

  private func message() -> DNSMessage {
    var message = DNSMessage()
    message.isResponse = true
    message.questions = [.init(name: ServiceNames.service, kind: .ptr, wantsUnicast: true)]
    message.answers = [
      DNSRecord(name: ServiceNames.service, contents: .ptr(Self.name), timeToLive: 4_500),
      DNSRecord(
        name: Self.name, contents: .srv(host: Self.host, port: 4_040), timeToLive: 120, isUnique: true),
    ]
    message.additional = [
      DNSRecord(name: Self.name, contents: .txt([[1, 2], []]), timeToLive: 4_500, isUnique: true),
      DNSRecord(name: Self.host, contents: .a([10, 0, 0, 7]), timeToLive: 120, isUnique: true),
      DNSRecord(name: Self.host, contents: .aaaa([UInt8](repeating: 7, count: 16)), timeToLive: 120),
      DNSRecord(name: Self.host, contents: .other(.init(rawValue: 99), [1, 2, 3]), timeToLive: 120),
    ]
    return message
  }

  @Test func `a message is read as it was written`() {
    #expect(DNSMessage(message().bytes) == message())
  }

  /// A question of RFC 6762's kind, and an answer with pointers, byte by byte.
  @Test func `names with pointers are read`() throws {
    let head: [UInt8] = [0, 0, 0x84, 0, 0, 0, 0, 2, 0, 0, 0, 0]
    let service: [UInt8] =
      [7] + Array("_dunlin".utf8) + [4] + Array("_tcp".utf8) + [5] + Array("local".utf8) + [0]
    let pointer: [UInt8] = [0, 12, 0, 1, 0, 0, 0x11, 0x94, 0, 6, 3] + Array("abc".utf8) + [0xC0, 12]
    // Its name is the one that the pointer before it spelled.
    let place = UInt8(head.count + service.count + 10)
    let srv: [UInt8] =
      [0xC0, place, 0, 33, 0x80, 1, 0, 0, 0, 120, 0, 13, 0, 0, 0, 0, 0x0F, 0xC8, 4] + Array("host".utf8) + [
        0xC0, 24 + 1,
      ]
    let bytes = head + service + pointer + srv
    let message = try #require(DNSMessage(bytes))
    #expect(message.answers[0].contents == .ptr(Self.name))
    #expect(message.answers[1].name == Self.name)
    #expect(message.answers[1].isUnique)
    guard case .srv(let host, let port) = message.answers[1].contents else {
      Issue.record("no address")
      return
    }
    #expect(port == 4_040)
    #expect(host == DNSName(known: "host", "local"))
  }

  @Test func `names that loop or are too long are refused`() {
    let head: [UInt8] = [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]
    for name in [
      [0xC0, 12], [0xC0, 14, 0xC0, 12], [1, 0x61, 0xC0, 12], [0xC0, 200], [0x40, 0], [63], [0xC0],
    ] as [[UInt8]] {
      expect(DNSMessage(head + name + [0, 12, 0, 1]) == nil, "\(name)")
    }
    let label = [UInt8(63)] + [UInt8](repeating: 0x61, count: 63)
    #expect(DNSMessage(head + label + label + label + [0, 0, 12, 0, 1]) != nil)
    #expect(DNSMessage(head + label + label + label + label + [0, 0, 12, 0, 1]) == nil)
  }

  @Test func `what is too large, too much or no plain query is refused`() {
    let bytes = message().bytes
    #expect(DNSMessage(bytes + [UInt8](repeating: 0, count: DNSMessage.byteLimit)) == nil)
    #expect(DNSMessage([]) == nil)
    for count in bytes.indices.dropLast() { expect(DNSMessage(Array(bytes[..<count])) == nil, "\(count)") }
    for (place, value) in [(2, 0x28), (3, 0x03), (6, 0xFF), (10, 0xFF)] as [(Int, UInt8)] {
      var other = bytes
      other[place] = value
      expect(DNSMessage(other) == nil, "\(place)")
    }
  }

  @Test func `a name that stood before is written as a pointer, but for the host of a port`() {
    let plain = message().answers.reduce(0) { $0 + $1.name.byteCount }
    #expect(message().bytes.count < plain + 200)
    // The host of the port is spelled whole, for resolvers that do not follow a pointer there.
    #expect(String(decoding: message().bytes, as: UTF8.self).components(separatedBy: "local").count == 3)
  }

  @Test func `what does not fit into a packet goes on in the next, and a question says so`() throws {
    var question = DNSMessage()
    question.questions = [.init(name: ServiceNames.service, kind: .ptr)]
    question.answers = try (0..<200).map { number in
      DNSRecord(
        name: ServiceNames.service,
        contents: .ptr(try #require(ServiceNames.service.prefixed(by: "instance\(number)"))),
        timeToLive: 4_500)
    }
    let packets = question.packets()
    let read = try packets.map { try #require(DNSMessage($0)) }
    #expect(packets.count > 2 && packets.allSatisfy { $0.count <= DNSMessage.packetBytes })
    #expect(read.map(\.isTruncated) == Array(repeating: true, count: packets.count - 1) + [false])
    #expect(read.map(\.questions.count) == [1] + Array(repeating: 0, count: packets.count - 1))
    #expect(read.flatMap(\.answers) == question.answers)
    let answer = DNSMessage.response(question.answers, additional: message().additional)
    let answers = try answer.packets().map { try #require(DNSMessage($0)) }
    #expect(answers.allSatisfy { $0.isResponse && !$0.isTruncated })
    #expect(answers.flatMap(\.answers) == question.answers)
    #expect(answers.last?.additional == message().additional)
  }

  @Test func `the types of a name are written as the format has it`() throws {
    let record = DNSRecord(
      name: Self.host, contents: .nsec([.a, .aaaa]), timeToLive: 120, isUnique: true)
    let read = try #require(DNSMessage(DNSMessage.response([record]).bytes))
    // The name itself, then block 0 with four bytes, of which bits 1 and 28 are set.
    let expected: [UInt8] =
      [3] + Array("abc".utf8) + [5] + Array("local".utf8) + [0] + [0, 4, 0x40, 0, 0, 0x08]
    #expect(read.answers.first?.contents == .other(.nsec, expected))
  }

  @Test func `any bytes are read to something or nothing`() {
    var random = SeededGenerator(seed: 5)
    let bytes = message().bytes
    for _ in 0..<20_000 {
      var other = bytes
      for _ in 0...Int.random(in: 0..<4, using: &random) {
        other[Int.random(in: other.indices, using: &random)] = .random(in: 0...255, using: &random)
      }
      _ = DNSMessage(other)
    }
  }

  @Test func `names are the same whatever the case of their letters`() {
    #expect(DNSName(known: "ABC", "Local") == DNSName(known: "abc", "local"))
    #expect(Set([DNSName(known: "ABC"), DNSName(known: "abc")]).count == 1)
    #expect(DNSName(known: "abc") != DNSName(known: "abd"))
    #expect(DNSName([[]]) == nil)
    #expect(DNSName([[UInt8](repeating: 1, count: 64)]) == nil)
    #expect(DNSName(known: "a.b", "c").description == "a\\46b.c")
  }
}
