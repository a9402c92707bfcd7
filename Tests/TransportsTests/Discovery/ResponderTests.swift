import TestKit
import Testing

@testable import Links

@Suite struct ResponderTests {
  private static let service = Service(
    instance: "abc", port: 4_040, tag: "aa", addresses: [[10, 0, 0, 7]])
  private static let name = DNSName(known: "abc", "_dunlin", "_tcp", "local")
  private static let host = DNSName(known: "abc", "local")
  private static let asker = DatagramSource(address: [10, 0, 0, 1], port: 5_353)
  private static let pointer = DNSRecord(
    name: ServiceNames.service, contents: .ptr(name), timeToLive: 4_500)

  /// A responder that has announced itself, a minute ago.
  private func settled() -> Responder {
    var responder = Responder(Self.service, now: .zero) { 0.5 }
    for time in [0, 1, 3] { expectEqual(responder.takeDue(now: .seconds(time)).count, 1) }
    return responder
  }

  private func question(
    _ name: DNSName, _ kind: DNSRecord.Kind, known: [DNSRecord] = [], unicast: Bool = false,
    more: Bool = false
  ) -> DNSMessage {
    var message = DNSMessage()
    message.questions = [.init(name: name, kind: kind, wantsUnicast: unicast)]
    message.answers = known
    message.isTruncated = more
    return message
  }

  @Test func `a new service is announced three times, with all that belongs to it`() {
    var responder = Responder(Self.service, now: .zero) { 0.5 }
    let first = responder.takeDue(now: .zero)
    #expect(first.count == 1)
    #expect(first[0].message.answers.map(\.kind) == [.ptr, .ptr, .srv, .txt, .a])
    #expect(first[0].receiver == nil && first[0].message.isResponse)
    #expect(responder.next == .seconds(1))
    #expect(responder.takeDue(now: .milliseconds(900)).isEmpty)
    #expect(responder.takeDue(now: .seconds(1)).count == 1)
    #expect(responder.takeDue(now: .seconds(3)).count == 1)
    #expect(responder.next == nil)
  }

  @Test(arguments: [0.0, 0.5, 1.0])
  func `a question for peers is answered after 20 to 120 ms, with all that belongs to it`(
    chance: Double
  ) throws {
    for name in [ServiceNames.service, try #require(ServiceNames.peers(tagged: "AA"))] {
      var responder = Responder(Self.service, now: .zero) { chance }
      for time in [0, 1, 3] { expectEqual(responder.takeDue(now: .seconds(time)).count, 1) }
      responder.receive(question(name, .ptr), from: Self.asker, now: .seconds(60))
      let due = Duration.seconds(60) + .milliseconds(20) + .milliseconds(100) * chance
      expectEqual(responder.next, due)
      expect(responder.takeDue(now: due - .milliseconds(1)).isEmpty)
      let answers = responder.takeDue(now: due)
      expectEqual(answers.map(\.message.answers.count), [1])
      expectEqual(Set(answers[0].message.additional.map(\.kind)), [.srv, .txt, .a, .nsec])
    }
  }

  @Test func `a question for what is nobody else's is answered at once`() {
    var responder = settled()
    func answer(_ name: DNSName, _ kind: DNSRecord.Kind, at second: Int) -> DNSMessage? {
      responder.receive(question(name, kind), from: Self.asker, now: .seconds(second))
      return responder.takeDue(now: .seconds(second)).first?.message
    }
    #expect(answer(Self.name, .srv, at: 60)?.answers.map(\.kind) == [.srv])
    #expect(answer(Self.name, .any, at: 70)?.answers.map(\.kind) == [.srv, .txt])
    #expect(answer(Self.host, .a, at: 80)?.answers.map(\.kind) == [.a])
    // There is no such address, and nobody else will say so.
    #expect(answer(Self.host, .aaaa, at: 90)?.answers.map(\.contents) == [.nsec([.a])])
    responder.receive(question(ServiceNames.allServices, .ptr), from: Self.asker, now: .seconds(100))
    #expect(
      responder.takeDue(now: .seconds(101)).first?.message.answers.map(\.contents) == [
        .ptr(ServiceNames.service)
      ])
  }

  @Test func `nothing is said that is not asked for, or known already`() throws {
    var responder = settled()
    for message in [
      question(DNSName(known: "_http", "_tcp", "local"), .ptr), question(ServiceNames.service, .srv),
      question(try #require(ServiceNames.peers(tagged: "bb")), .ptr),
      question(ServiceNames.service, .ptr, known: [Self.pointer]), DNSMessage.response([Self.pointer]),
    ] {
      responder.receive(message, from: Self.asker, now: .seconds(60))
      expect(responder.next == nil)
    }
    // One that is known for less than half its time is said again.
    var old = Self.pointer
    old.timeToLive = 2_000
    responder.receive(
      question(ServiceNames.service, .ptr, known: [old]), from: Self.asker, now: .seconds(60))
    #expect(responder.next != nil)
  }

  @Test func `known answers that come in a second message count for who sent them`() {
    var responder = settled()
    let other = DatagramSource(address: [10, 0, 0, 2], port: 5_353)
    var rest = DNSMessage()
    rest.answers = [Self.pointer]
    responder.receive(question(ServiceNames.service, .ptr, more: true), from: Self.asker, now: .seconds(60))
    #expect(responder.next == .milliseconds(60_450))
    responder.receive(rest, from: other, now: .milliseconds(60_100))
    #expect(responder.next == .milliseconds(60_450))
    responder.receive(rest, from: Self.asker, now: .milliseconds(60_100))
    #expect(responder.next == nil)
  }

  @Test func `what somebody else has just said is left out`() {
    var responder = settled()
    let services = DNSRecord(
      name: ServiceNames.allServices, contents: .ptr(ServiceNames.service), timeToLive: 4_500)
    responder.receive(question(ServiceNames.allServices, .ptr), from: Self.asker, now: .seconds(60))
    responder.receive(.response([services]), from: Self.asker, now: .milliseconds(60_010))
    #expect(responder.next == nil)
  }

  @Test func `a record is sent to all once in a second at most, and later where it was asked for`() {
    var responder = settled()
    var times: [Duration] = []
    for step in 0..<300 {
      let now = Duration.seconds(60) + .milliseconds(step * 10)
      // Each question comes from somebody else, so that none asks too often.
      let asker = DatagramSource(address: [10, 0, 0, UInt8(step % 200)], port: 5_353)
      if step < 200 { responder.receive(question(Self.name, .srv), from: asker, now: now) }
      if !responder.takeDue(now: now).isEmpty { times.append(now) }
    }
    #expect(times == [.seconds(60), .seconds(61), .seconds(62)])
    #expect(responder.next == nil)
  }

  @Test func `who wants an answer for itself gets it, where all have heard it not long ago`() {
    var responder = settled()
    responder.receive(
      question(ServiceNames.service, .ptr, unicast: true), from: Self.asker, now: .seconds(60))
    #expect(responder.takeDue(now: .seconds(60)).map(\.receiver) == [Self.asker])
    // Long after, all hear it.
    responder.receive(
      question(ServiceNames.service, .ptr, unicast: true), from: Self.asker, now: .seconds(4_000))
    #expect(responder.takeDue(now: .seconds(4_001)).map(\.receiver) == [nil])
  }

  @Test func `a plain resolver gets what it asked for, with its number, for a short time`() throws {
    var responder = settled()
    let resolver = DatagramSource(address: [10, 0, 0, 1], port: 40_000)
    var message = question(Self.name, .srv)
    message.id = 77
    responder.receive(message, from: resolver, now: .seconds(60))
    let answer = try #require(responder.takeDue(now: .seconds(60)).first)
    #expect(answer.receiver == resolver)
    #expect(answer.message.id == 77 && answer.message.questions == message.questions)
    #expect(answer.message.answers.map(\.kind) == [.srv])
    let records = answer.message.answers + answer.message.additional
    #expect(records.allSatisfy { !$0.isUnique && $0.timeToLive <= 10 })
    #expect(responder.next == nil)
  }

  @Test func `one source gets ten answers a second, and others still theirs`() {
    var responder = settled()
    var answers = 0
    for step in 0..<1_000 {
      let resolver = DatagramSource(address: [10, 0, 0, 1], port: UInt16(1_024 + step))
      responder.receive(question(Self.name, .srv), from: resolver, now: .seconds(60))
      answers += responder.takeDue(now: .seconds(60)).count
    }
    #expect(answers == DiscoveryLimits.answersPerSecond)
    let other = DatagramSource(address: [10, 0, 0, 2], port: 40_000)
    responder.receive(question(Self.name, .srv), from: other, now: .seconds(60))
    #expect(responder.takeDue(now: .seconds(60)).count == 1)
  }

  @Test func `a flood from many sources leaves few answers waiting`() {
    var responder = settled()
    for step in 0..<10_000 {
      let asker = DatagramSource(address: [10, 0, UInt8(step >> 8), UInt8(step & 255)], port: 5_353)
      responder.receive(question(ServiceNames.service, .ptr), from: asker, now: .seconds(60))
    }
    #expect(responder.takeDue(now: .seconds(61)).count == 1)
  }

  @Test func `with another tag and another address, what is no more is said, and what is new`() {
    var responder = settled()
    var service = Self.service
    service.tag = "bb"
    service.addresses = [[10, 0, 0, 8]]
    responder.change(to: service, now: .seconds(60))
    let records = responder.takeDue(now: .seconds(60)).flatMap(\.message.answers)
    let gone = records.filter { $0.timeToLive == 0 }
    #expect(gone.map(\.name) == [ServiceNames.peers(tagged: "aa")])
    let new = records.filter { $0.timeToLive > 0 }
    #expect(new.map(\.name) == [ServiceNames.peers(tagged: "bb"), Self.host])
    #expect(new.last?.contents == .a([10, 0, 0, 8]) && new.last?.isUnique == true)
    for time in [61, 63] { expectEqual(responder.takeDue(now: .seconds(time)).count, 1) }
    responder.receive(question(Self.host, .a), from: Self.asker, now: .seconds(70))
    #expect(
      responder.takeDue(now: .seconds(70)).first?.message.answers.map(\.contents) == [.a([10, 0, 0, 8])])
  }

  @Test func `at the end it is said that nothing holds any more`() {
    let goodbye = settled().goodbye
    #expect(goodbye.isResponse)
    #expect(goodbye.answers.allSatisfy { $0.timeToLive == 0 })
    #expect(goodbye.answers.map(\.kind) == [.ptr, .ptr, .srv, .txt, .a])
  }
}
