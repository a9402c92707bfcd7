import CRDTCore
import TestKit
import Testing

@testable import SyncProtocol

/// The rule who tells whom what it holds: one half, driven by steps.
@Suite struct NoticeHalfTests {
  private let tuning = SyncTuning()

  private func id(_ number: Int) throws -> DocumentID { try DocumentID("d\(number)") }

  private func half(_ role: NoticeHalf.Role = .haves) -> NoticeHalf { NoticeHalf(role, above: 0, tuning) }

  private func ask(
    _ role: NoticeHalf.Role, _ number: UInt64, count: UInt64, spent: UInt64
  ) throws -> FilterAsk {
    guard
      let cleared = Gatekeeper(gate: EverythingGate(), peer: .small, access: .everything).clear(
        gathered: "things")
    else {
      throw SyncError(.closed, "The gate is closed")
    }
    return FilterAsk(cleared, role: role, number: number, count: count, spent: spent)
  }

  private func chunk(_ filter: IDFilter, at offset: Int = 0, of count: Int? = nil) -> FilterFrame.Chunk {
    FilterFrame.Chunk(
      totalBytes: filter.bytes.count, offset: offset,
      bytes: Array(filter.bytes[offset..<min(offset + (count ?? .max / 2), filter.bytes.count)]))
  }

  private func filter(of numbers: Range<Int>) throws -> IDFilter {
    var filter = IDFilter(byteCount: FilterSize(count: UInt64(numbers.count), others: 0, tuning).byteCount)
    for number in numbers { filter.insert(IDFilter.hash(try id(number))) }
    return filter
  }

  /// A half that was told what the other side holds.
  private func checking(_ numbers: Range<Int> = 0..<10) throws -> NoticeHalf {
    var half = half()
    for number in 0..<64 { _ = half.receive(event: try id(number)) }
    _ = try half.receive(chunk(filter(of: numbers)), number: half.lastNumber, held: 64, room: 1 << 20)
    #expect(half.isChecking)
    return half
  }

  @Test func `it tells each event, and asks when that has cost as much as 64 notices`() throws {
    var half = half()
    for number in 0..<63 {
      expectEqual(half.receive(event: try id(number)), NoticeHalf.Verdict(reports: true))
    }
    let last = half.receive(event: try id(63))
    #expect(last == NoticeHalf.Verdict(reports: true, steps: [.ask(number: 1, spent: 64 * 62)]))
    // What comes now waits.
    #expect(half.receive(event: try id(64)) == NoticeHalf.Verdict())
    #expect(half.isWaiting && half.waitingCount == 1)
  }

  @Test func `of what waited it tells what the filter has, and from then on what the other side told of`()
    throws
  {
    var half = half()
    for number in 0..<64 { _ = half.receive(event: try id(number)) }
    for number in 100..<110 { _ = half.receive(event: try id(number)) }
    let steps = try half.receive(chunk(filter(of: 105..<120)), number: 1, held: 74, room: 1 << 20)
    #expect(steps == [.report(try (105..<110).map { try id($0) }.sorted())])
    #expect(!half.isWaiting)
    #expect(half.receive(event: try id(119)).reports)
    #expect(!half.receive(event: try id(200)).reports)
    half.receive(reported: IDFilter.hash(try id(200)))
    #expect(half.receive(event: try id(200)).reports)
  }

  @Test func `what the other side tells while a filter is on its way counts, too`() throws {
    var half = half()
    for number in 0..<64 { _ = half.receive(event: try id(number)) }
    half.receive(reported: IDFilter.hash(try id(300)))
    _ = try half.receive(chunk(filter(of: 0..<1)), number: 1, held: 64, room: 1 << 20)
    #expect(half.receive(event: try id(300)).reports)
  }

  @Test func `more than 4,096 ids are not kept by name: all that is held is looked at`() throws {
    var half = half()
    for number in 0..<64 + 4_096 { _ = half.receive(event: try id(number)) }
    #expect(half.waitingCount == 4_096 && !half.awaitsAll)
    _ = half.receive(event: try id(9_999))
    #expect(half.waitingCount == 0 && half.awaitsAll)
    let steps = try half.receive(chunk(filter(of: 0..<1)), number: 1, held: 4_161, room: 1 << 20)
    #expect(steps == [.lookAtAll(number: 1)])
    #expect(try half.looks(under: 1) && half.reports(IDFilter.hash(id(0))))
    half.finishLook(under: 1)
    #expect(!half.looks(under: 1))
  }

  @Test func `more than 4,096 ids that were told are folded, and asked for anew when these are many`() throws
  {
    var half = try checking()
    for number in 0..<4 * 4_097 { half.receive(reported: IDFilter.hash(try id(1_000 + number))) }
    #expect(half.filterBytes <= SyncLimits.foldedFilterBytes + 1_024)
    #expect(half.receive(event: try id(1_500)).reports)
    #expect(half.isAsking)
  }

  @Test func `a filter that was looked at four times as often as it is good for is asked for anew`() throws {
    var half = try checking()
    for number in 0..<255 { expect(half.receive(event: try id(1_000 + number)).steps.isEmpty) }
    #expect(half.receive(event: try id(2_000)).steps == [.ask(number: 2, spent: 256 * 62)])
  }

  @Test func `it takes over where its filter costs no more than the other side has told`() throws {
    var half = half(.offers)
    #expect(
      half.receive(ask: try ask(.haves, 7, count: 1_000, spent: 3_968), isOpen: true) == [.count(number: 7)])
    #expect(!half.isLeading)
    let size = FilterSize(count: 40, others: 1_000, tuning)
    #expect(half.receive(count: 40, number: 7, room: 1 << 20) == [.fill(number: 7, size)])
    // From now on the other side relies on it, also while the filter is made.
    #expect(half.isLeading && half.filterBytes == size.byteCount)
    #expect(half.receive(event: try id(1)).reports)
    #expect(half.finishFilter(7) == [])
    #expect(!half.makes(7))
    #expect(half.filterBytes == 0)
  }

  @Test func `it refuses where its filter costs more, and says how much`() throws {
    var half = half(.offers)
    _ = half.receive(ask: try ask(.haves, 7, count: 1_000, spent: 3_968), isOpen: true)
    let price = UInt64(FilterSize(count: 100_000, others: 1_000, tuning).byteCount)
    #expect(half.receive(count: 100_000, number: 7, room: 1 << 20) == [.refuse(number: 7, price: price)])
    #expect(!half.isLeading)
  }

  @Test func `it refuses where there is no room for a filter`() throws {
    var half = half(.offers)
    _ = half.receive(ask: try ask(.haves, 7, count: 1_000, spent: 1 << 30), isOpen: true)
    let price = UInt64(FilterSize(count: 100_000, others: 1_000, tuning).byteCount)
    #expect(half.receive(count: 100_000, number: 7, room: 1_000) == [.refuse(number: 7, price: price)])
  }

  @Test func `one that is refused tells what waited, and asks again after twice as much`() throws {
    var half = half()
    for number in 0..<66 { _ = half.receive(event: try id(number)) }
    let steps = half.receive(refusal: 100, number: 1, held: 66)
    #expect(steps == [.report(try [id(64), id(65)])])
    for number in 0..<63 { expect(half.receive(event: try id(100 + number)).steps.isEmpty) }
    #expect(half.receive(event: try id(200)).steps == [.ask(number: 2, spent: 128 * 62)])
  }

  @Test func `one that is asked while it asks itself goes by who has told more`() throws {
    var half = half()
    for number in 0..<65 { _ = half.receive(event: try id(number)) }
    let less = try ask(.offers, 3, count: 10, spent: 64 * 36)
    #expect(half.receive(ask: less, isOpen: true) == [.refuse(number: 3, price: 0)])
    let more = try ask(.offers, 4, count: 10, spent: 64 * 62)
    #expect(half.receive(ask: more, isOpen: true) == [.count(number: 4)])
    let steps = half.receive(count: 65, number: 4, room: 1 << 20)
    // What waited is told before the other side stops.
    #expect(steps.first == .report([try id(64)]))
    #expect(half.isLeading)
  }

  @Test func `where the gate is closed a sender has nothing to tell, and a receiver refuses`() throws {
    var sender = half(.offers)
    #expect(
      sender.receive(ask: try ask(.haves, 1, count: 1, spent: 9_999), isOpen: false) == [
        .answerNothing(number: 1)
      ])
    var receiver = half(.haves)
    #expect(
      receiver.receive(ask: try ask(.offers, 1, count: 1, spent: 9_999), isOpen: false)
        == [.refuse(number: 1, price: 0)])
    #expect(!sender.isLeading && !receiver.isLeading)
  }

  @Test func `a reset forgets all, answers who waits, and never uses a number again`() throws {
    var half = try checking()
    #expect(half.reset() == [])
    #expect(half.lastNumber > 1 && !half.isChecking)
    _ = half.receive(ask: try ask(.offers, 9, count: 1, spent: 9_999), isOpen: true)
    #expect(half.reset() == [9])
    #expect(half.receive(count: 1, number: 9, room: 1 << 20) == [])
    for number in 0..<64 { _ = half.receive(event: try id(number)) }
    let stale = half.lastNumber - 1
    #expect(try half.receive(chunk(filter(of: 0..<1)), number: stale, held: 64, room: 1 << 20) == [])
    #expect(half.isAsking)
  }

  @Test func `what a comparison leaves over is told, or asked for when that costs more than a filter`() throws
  {
    var half = half()
    #expect(half.receive(leftovers: 64, facing: 40) == .report)
    #expect(half.receive(leftovers: 1, facing: 40) == .all([.ask(number: 1, spent: 65 * 62)]))
    #expect(half.awaitsAll)
    #expect(half.receive(leftovers: 500, facing: 40) == .all([]))
    var other = self.half()
    #expect(other.receive(leftovers: 1_000, facing: 100_000) == .report)
  }

  @Test func `one that checks looks at what a comparison leaves over in the filter that it has`() throws {
    var half = try checking()
    let number = half.lastNumber + 1
    #expect(half.receive(leftovers: 1, facing: 40) == .all([.lookAtAll(number: number)]))
    #expect(half.receive(leftovers: 1, facing: 40) == .all([]))
    // Whoever is to tell before it has looked at all tells all.
    _ = half.receive(ask: try ask(.offers, 9, count: 1, spent: 9_999), isOpen: true)
    #expect(half.receive(count: 10, number: 9, room: 1 << 20).first == .reportAll)
    #expect(!half.looks(under: number))
  }

  @Test func `parts of a filter that are not in order are an error`() throws {
    var half = half()
    for number in 0..<64 { _ = half.receive(event: try id(number)) }
    let filter = try filter(of: 0..<10)
    #expect(try half.receive(chunk(filter, of: 10), number: 1, held: 64, room: 1 << 20) == [])
    #expect(throws: SyncError.self) {
      try half.receive(chunk(filter, at: 20), number: 1, held: 64, room: 1 << 20)
    }
  }

  @Test func `a filter for which there is no room counts as refused`() throws {
    var half = half()
    for number in 0..<65 { _ = half.receive(event: try id(number)) }
    let waiting = try id(64)
    #expect(
      try half.receive(chunk(filter(of: 0..<10)), number: 1, held: 65, room: 10) == [.report([waiting])])
    #expect(half.filterBytes == 0)
  }

  @Test func `a filter has at most 4 MiB, and is sized by what is looked up`() {
    #expect(FilterSize(count: 0, others: 5, tuning).byteCount == 1)
    #expect(FilterSize(count: 34, others: 100_000, tuning).byteCount == 34 * 64 / 8 + 1)
    #expect(FilterSize(count: 1_000, others: 1_000, tuning).byteCount == 1_000 * 14 / 8 + 1)
    #expect(FilterSize(count: 1_000, others: 1_000_000, tuning).byteCount == 1_000 * 30 / 8 + 1)
    #expect(FilterSize(count: .max, others: .max, tuning).byteCount == 4 << 20)
  }

  @Test func `the filters of one role stay within 4 MiB, over all collections`() throws {
    var halves = NoticeHalves(.offers, tuning)
    let million: UInt64 = 1_000_000
    for name in ["a", "b", "c"] {
      _ = halves[name].receive(ask: try ask(.haves, 1, count: million, spent: 1 << 30), isOpen: true)
      let room = halves.room
      _ = halves[name].receive(count: million, number: 1, room: room)
    }
    #expect(halves.filterBytes <= SyncLimits.roleFilterBytes)
    #expect(halves["a"].isLeading && halves["b"].isLeading && !halves["c"].isLeading)
  }

  @Test func `a half that is made anew goes on with numbers that were not used`() throws {
    var halves = NoticeHalves(.haves, tuning)
    for number in 0..<64 { _ = halves["a"].receive(event: try id(number)) }
    let last = halves["a"].lastNumber
    _ = halves.reset()
    #expect(halves["a"].lastNumber > last)
    #expect(!halves["a"].isAsking)
  }
}

/// Lets everything through.
struct EverythingGate: SyncGate {
  var epoch: UInt64 { 0 }
  func maySend(collection: String, to peer: PeerKind) -> Bool { true }
  func mayAccept(collection: String, from peer: PeerKind) -> Bool { true }
  func fingerprint(toward peer: PeerKind) -> UInt64 { 1 }
}
