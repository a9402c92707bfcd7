import TestKit
import Testing

@testable import Links

@Suite struct BrowserTests {
  private static let names = ["yesterday", "aa", "tomorrow"].compactMap { ServiceNames.peers(tagged: $0) }

  private func browser() -> Browser { Browser(Self.names, now: .zero) { 0.5 } }

  private func service(
    _ name: String, port: UInt16 = 4_040, tag: String = "aa", address: [UInt8] = [10, 0, 0, 7]
  ) -> Service {
    Service(instance: name, port: port, tag: tag, addresses: [address])
  }

  private func told(_ service: Service, goodbye: Bool = false) -> DNSMessage {
    .response(goodbye ? service.records.map(\.goodbye) : service.records)
  }

  private func found(_ service: Service) -> Browser.Event {
    .found(.init(instance: service.instance, port: service.port, addresses: service.addresses))
  }

  private func receive(_ message: DNSMessage, _ browser: inout Browser, at now: Duration) -> [Browser.Event] {
    browser.receive(message, own: "own", room: .init(), now: now)
  }

  @Test func `asks soon, and then ever more rarely`() {
    var browser = browser()
    #expect(browser.next == .milliseconds(70))
    var times: [Duration] = []
    var now = Duration.zero
    while now < .seconds(20_000) {
      now = browser.next
      let messages = browser.takeDue(now: now).messages
      expectEqual(messages.map(\.questions), [Self.names.map { .init(name: $0, kind: .ptr) }])
      times.append(now)
    }
    let pauses = zip(times, times.dropFirst()).map { $1 - $0 }
    #expect(pauses.prefix(4) == [.seconds(1), .seconds(2), .seconds(4), .seconds(8)])
    #expect(pauses.last == .seconds(3_600))
    browser.askAgain(now: now)
    #expect(browser.next == now + .milliseconds(20))
  }

  @Test func `a peer is found when all of it is known, and told of once`() {
    var browser = browser()
    let service = service("abc")
    for (count, expected) in [(1, false), (4, false), (6, true), (6, false)] {
      var message = told(service)
      message.answers = Array(message.answers.prefix(count))
      let events = receive(message, &browser, at: .seconds(1))
      expectEqual(events, expected ? [found(service)] : [], "\(count)")
    }
    let moved = self.service("abc", port: 5)
    #expect(receive(told(moved), &browser, at: .seconds(2)) == [found(moved)])
  }

  @Test func `what is missing of a peer is asked for, ever more rarely, and what is known is not`() throws {
    var browser = browser()
    _ = browser.takeDue(now: .milliseconds(70))
    var message = told(service("abc"))
    message.answers = [message.answers[0]]
    _ = receive(message, &browser, at: .milliseconds(200))
    #expect(browser.next == .milliseconds(300))
    let asked = browser.takeDue(now: .milliseconds(300)).messages
    let name = DNSName(known: "abc", "_dunlin", "_tcp", "local")
    #expect(asked.map(\.questions) == [[.init(name: name, kind: .srv)]])
    #expect(browser.takeDue(now: .milliseconds(1_069)).messages.isEmpty)
    let second = try #require(browser.takeDue(now: .milliseconds(1_070)).messages.first)
    #expect(second.questions.map(\.kind) == [.ptr, .ptr, .ptr])
    #expect(second.answers.map(\.contents) == [message.answers[0].contents])
    #expect(second.answers.map(\.timeToLive) == [4_499])
    #expect(browser.takeDue(now: .milliseconds(1_300)).messages.first?.questions.first?.kind == .srv)
    #expect(browser.takeDue(now: .milliseconds(2_300)).messages.isEmpty)
  }

  @Test func `this peer itself is not found, nor are peers of other applications`() {
    var browser = browser()
    for service in [service("own"), service("abc", tag: "bb"), service("with space")] {
      expect(receive(told(service), &browser, at: .zero).isEmpty)
    }
    #expect(browser.count == 0)
    #expect(
      receive(told(service("OTHER", tag: "TOMORROW")), &browser, at: .zero) == [found(service("other"))])
  }

  @Test func `a peer that says goodbye is lost a second later, unless it comes again`() {
    var browser = browser()
    let service = service("abc")
    _ = receive(told(service), &browser, at: .zero)
    #expect(receive(told(service, goodbye: true), &browser, at: .seconds(10)).isEmpty)
    _ = receive(told(service), &browser, at: .milliseconds(10_500))
    #expect(browser.takeDue(now: .seconds(12)).events.isEmpty)
    _ = receive(told(service, goodbye: true), &browser, at: .seconds(20))
    #expect(browser.takeDue(now: .milliseconds(20_999)).events.isEmpty)
    #expect(browser.takeDue(now: .seconds(21)).events == [.lost("abc")])
    #expect(browser.count == 0 && browser.byteCount == 0)
  }

  @Test func `a peer that is silent is asked for four times, and lost when its time is over`() {
    var browser = browser()
    _ = receive(told(service("abc")), &browser, at: .zero)
    var (now, events): (Duration, [Browser.Event]) = (.zero, [])
    var asked: [DNSRecord.Kind: [Int64]] = [:]
    while events.isEmpty, now < .seconds(10_000) {
      now = browser.next
      let due = browser.takeDue(now: now)
      for question in due.messages.flatMap(\.questions) where question.kind != .ptr {
        asked[question.kind, default: []].append(now.components.seconds)
      }
      events += due.events
    }
    // Its address and its port hold for two minutes.
    #expect(now == .seconds(120))
    #expect(events == [.lost("abc")])
    #expect(asked[.srv]?.prefix(4) == [97, 103, 109, 115])
    #expect(asked[.a]?.prefix(4) == [97, 103, 109, 115])
  }

  @Test func `a peer that answers stays`() {
    var browser = browser()
    let service = service("abc")
    _ = receive(told(service), &browser, at: .zero)
    var now = Duration.zero
    while now < .seconds(20_000) {
      now = browser.next
      let due = browser.takeDue(now: now)
      expect(due.events.isEmpty)
      guard !due.messages.isEmpty else { continue }
      var responder = Responder(service, now: now) { 0.5 }
      for answer in responder.takeDue(now: now) {
        expect(receive(answer.message, &browser, at: now + .milliseconds(50)).isEmpty)
      }
    }
  }

  @Test func `a new address takes the place of an old one`() {
    var browser = browser()
    _ = receive(told(service("abc")), &browser, at: .zero)
    let moved = service("abc", address: [10, 0, 0, 8])
    let both = receive(told(moved), &browser, at: .seconds(10))
    #expect(
      both == [.found(.init(instance: "abc", port: 4_040, addresses: [[10, 0, 0, 7], [10, 0, 0, 8]]))])
    #expect(browser.takeDue(now: .milliseconds(10_999)).events.isEmpty)
    #expect(browser.takeDue(now: .seconds(11)).events == [found(moved)])
  }

  @Test func `when the day changes, peers with the tag of the day before yesterday are lost`() {
    var browser = browser()
    _ = receive(told(service("old", tag: "yesterday")), &browser, at: .zero)
    _ = receive(told(service("new")), &browser, at: .zero)
    let names = ["aa", "tomorrow", "after"].compactMap { ServiceNames.peers(tagged: $0) }
    #expect(browser.change(to: names, now: .seconds(5)) == [.lost("old")])
    // A peer that changes its tag says goodbye with the old one, and stays.
    _ = receive(told(service("new", tag: "tomorrow")), &browser, at: .seconds(6))
    _ = receive(.response([service("new").records[0].goodbye]), &browser, at: .seconds(7))
    #expect(browser.takeDue(now: .seconds(9)).events.isEmpty)
  }

  @Test(arguments: [8, 60]) func `a flood of peers is bounded`(labelBytes: Int) {
    var browser = browser()
    var found = 0
    for number in 0..<5_000 {
      let label = String(repeating: "x", count: labelBytes - 4) + String(1_000 + number)
      found += receive(told(service(label)), &browser, at: .zero).count
    }
    #expect((100...DiscoveryLimits.candidates).contains(found))
    #expect(browser.byteCount <= DiscoveryLimits.candidateBytes + 512)
    // What a question says it knows fits into packets.
    while browser.next < .seconds(30) {
      for message in browser.takeDue(now: browser.next).messages {
        expect(message.packets().allSatisfy { $0.count <= DNSMessage.packetBytes })
      }
    }
  }

  @Test func `a host of a thousand addresses takes little room`() {
    var browser = browser()
    _ = receive(told(service("abc")), &browser, at: .zero)
    for number in 0..<1_000 {
      let address = [10, 1, UInt8(number >> 8), UInt8(number & 255)]
      _ = receive(
        .response([
          DNSRecord(name: DNSName(known: "abc", "local"), contents: .a(address), timeToLive: 120)
        ]), &browser, at: .zero)
    }
    #expect(browser.byteCount < 1_024)
  }

  @Test func `what is not this service's, or no answer, changes nothing`() {
    var browser = browser()
    var message = told(service("abc"))
    message.isResponse = false
    #expect(receive(message, &browser, at: .zero).isEmpty)
    let web = DNSName(known: "_http", "_tcp", "local")
    let other = DNSMessage.response([
      DNSRecord(name: web, contents: .ptr(DNSName(known: "x", "_http", "_tcp", "local")), timeToLive: 100)
    ])
    #expect(receive(other, &browser, at: .zero).isEmpty)
    #expect(browser.count == 0)
  }

  @Test func `what others say often and for a moment makes few questions`() {
    var browser = browser()
    var (now, messages) = (Duration.zero, 0)
    for round in 0..<600 {
      now = .milliseconds(100) * round
      for number in 0..<20 {
        var message = told(service("x\(number)", port: UInt16(1_000 + round)))
        let life: UInt32 = number < 10 ? 1 : 20
        message.answers = message.answers.map { record in
          var record = record
          record.timeToLive = life
          return record
        }
        _ = receive(message, &browser, at: now)
      }
      while browser.next <= now { messages += browser.takeDue(now: now).messages.count }
    }
    // A minute of it: of each kind one question a second at most.
    #expect(messages > 5 && messages <= 122, "\(messages)")
  }
}
