import CRDTCore
import TestKit
import Testing

@testable import Transports

@Suite struct CandidateBookTests {
  private static let own = "m"
  private static let site = SiteID(high: 1, low: 1)

  private func book() -> CandidateBook {
    var book = CandidateBook(
      backoff: Backoff(initial: .seconds(1), longest: .seconds(60), random: { .max }), random: { 7 })
    book.ownInstance = Self.own
    return book
  }

  private func candidate(_ id: String, host: String = "10.0.0.7") -> PeerCandidate {
    PeerCandidate(id: id, endpoints: PeerCandidate.Endpoint(host: host, port: 4_040).map { [$0] } ?? [])
  }

  private func dial(_ book: inout CandidateBook, at now: Duration, connected: Set<SiteID> = []) -> [String] {
    book.takeDue(connected: connected, now: now).map(\.candidate.id)
  }

  private func key(_ id: String, _ source: CandidateBook.Source = .discovery) -> CandidateBook.Key {
    .init(source: source, id: id)
  }

  @Test func `the smaller instance dials at once, the greater one after a second, and nobody itself`() {
    var book = book()
    for id in ["z", "a", Self.own] { book.record(candidate(id), from: .discovery, now: .seconds(9)) }
    #expect(book.next == .seconds(9))
    #expect(dial(&book, at: .seconds(9)) == ["z"])
    #expect(dial(&book, at: .milliseconds(9_999)) == [])
    #expect(book.next == .seconds(10))
    #expect(dial(&book, at: .seconds(10)) == ["a"])
    #expect(book.next == nil)
  }

  @Test func `one candidate a second is dialed that never proved itself, and new ones first`() {
    var book = book()
    for number in 0..<20 { book.record(candidate("x\(number)"), from: .discovery, now: .seconds(9)) }
    var dialed: [String] = []
    for step in 0..<100 {
      let now = Duration.seconds(9) + .milliseconds(100) * step
      let due = dial(&book, at: now)
      expectEqual(due.count, step % 10 == 0 ? 1 : 0)
      for id in due { book.record(endOf: key(id), site: nil, wasOfUse: false, now: now) }
      dialed += due
    }
    #expect(Set(dialed).count == 10)
    // Those that are known are dialed beside.
    for number in 0..<5 {
      let site = SiteID(high: 2, low: UInt64(number))
      book.record(candidate("y\(number)"), from: .discovery, site: site, now: .seconds(19))
    }
    #expect(dial(&book, at: .seconds(19)).filter { $0.utf8.first == 0x79 }.count == 5)
  }

  @Test func `candidates of the application are dialed at once`() {
    var book = book()
    for number in 0..<5 { book.record(candidate("\(number)"), from: .application, now: .zero) }
    #expect(Set(dial(&book, at: .zero)) == ["0", "1", "2", "3", "4"])
  }

  @Test func `a peer that is connected is not dialed, and again when the connection is over`() {
    var book = book()
    book.record(candidate("z"), from: .discovery, site: Self.site, now: .zero)
    #expect(dial(&book, at: .zero, connected: [Self.site]) == [])
    #expect(book.next == nil)
    // Whose instance it is may turn out later.
    book.record(candidate("y"), from: .discovery, now: .zero)
    #expect(book.unknownInstances == ["y"])
    book.record(instance: "y", of: Self.site)
    #expect(dial(&book, at: .zero, connected: [Self.site]) == [])
    #expect(dial(&book, at: .seconds(100)) == [])
    #expect(book.next == .seconds(101))
    #expect(Set(dial(&book, at: .seconds(101))) == ["y", "z"])
  }

  @Test func `after a failure a candidate is dialed later and later, after a success soon`() {
    var book = book()
    book.record(candidate("z"), from: .discovery, now: .zero)
    var (now, delays): (Duration, [Duration]) = (.zero, [])
    for _ in 0..<8 {
      expectEqual(dial(&book, at: now), ["z"])
      book.record(endOf: key("z"), site: nil, wasOfUse: false, now: now)
      guard let next = book.next else { break }
      delays.append(next - now)
      now = next
    }
    #expect(delays.map { Int($0 / .seconds(1) + 0.01) } == [1, 2, 4, 8, 16, 32, 60, 60])
    #expect(dial(&book, at: now) == ["z"])
    book.record(endOf: key("z"), site: Self.site, wasOfUse: true, now: now)
    #expect(book.next.map { $0 - now < .milliseconds(1_001) } == true)
  }

  @Test func `a candidate that is gone is dialed no more`() {
    var book = book()
    book.record(candidate("y"), from: .discovery, now: .zero)
    book.withdraw("y", from: .discovery)
    #expect(book.next == nil)
    book.record(candidate("z"), from: .discovery, now: .zero)
    #expect(dial(&book, at: .zero) == ["z"])
    book.withdraw("z", from: .discovery)
    book.record(endOf: key("z"), site: Self.site, wasOfUse: true, now: .seconds(50))
    #expect(book.next == nil)
    // One that comes back while it is dialed stays.
    book.record(candidate("x"), from: .discovery, now: .seconds(60))
    #expect(dial(&book, at: .seconds(60)) == ["x"])
    book.withdraw("x", from: .discovery)
    book.record(candidate("x", host: "10.0.0.8"), from: .discovery, now: .seconds(61))
    book.record(endOf: key("x"), site: nil, wasOfUse: false, now: .seconds(62))
    #expect(
      book.takeDue(connected: [], now: .seconds(70)).map(\.candidate) == [candidate("x", host: "10.0.0.8")])
  }

  @Test func `sources are told apart, and candidates are bounded`() {
    var book = book()
    for number in 0..<1_000 { book.record(candidate("x\(number)"), from: .discovery, now: .zero) }
    #expect(book.unknownInstances.count == DiscoveryLimits.candidates)
    book.record(candidate("x1"), from: .application, now: .zero)
    book.withdrawAll(from: .discovery)
    #expect(book.unknownInstances.isEmpty)
    #expect(dial(&book, at: .zero) == ["x1"])
  }
}
