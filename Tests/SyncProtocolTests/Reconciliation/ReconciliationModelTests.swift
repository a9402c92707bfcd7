import CRDTCore
import DocStore
import TestKit
import Testing

@testable import SyncProtocol

/// Both halves of reconciliation back to back, over sets in memory: no store, no session.
@Suite struct ReconciliationModelTests {
  private static let collection = "things"

  /// One end's documents: a hash for each state, and whether the state matches the receiver's interest.
  private struct Documents: ReconcilingSet, RespondingSet {
    struct State: Equatable {
      let hash: UInt64
      let isMatch: Bool
    }

    var states: [DocumentID: State] = [:]
    var certificates: UInt64 = 0
    /// Whether the other end may know what is held here.
    var mayReport = true
    var hasOtherPeers = false
    var reportsOneByOne = true
    private let gatekeeper = Gatekeeper(gate: EverythingGate(), peer: .small, access: .everything)

    /// All of them by id, once they are ``ordered``.
    private(set) var sorted: [(id: DocumentID, state: State)] = []

    var ordered: Documents {
      var documents = self
      documents.sorted = states.map { ($0.key, $0.value) }.sorted { $0.id < $1.id }
      return documents
    }

    private func states(in range: KeyRange, from start: [UInt8]? = nil) -> ArraySlice<
      (id: DocumentID, state: State)
    > {
      let first = firstPlace(start ?? range.from)
      return sorted[first..<max(range.to.isEmpty ? sorted.count : firstPlace(range.to), first)]
    }

    private func firstPlace(_ bound: [UInt8]) -> Int {
      var (low, high) = (0, sorted.count)
      while low < high {
        let middle = (low + high) / 2
        if sorted[middle].id.bytes.lexicographicallyPrecedes(bound) {
          low = middle + 1
        } else {
          high = middle
        }
      }
      return low
    }

    func advance(_ scan: inout RangeScan, budget: inout Int) {
      for (number, (id, state)) in zip(1..., states(in: scan.range)) {
        scan.visit(
          DocumentNumber(UInt64(number)), id.bytes.span.bytes, hash: state.hash, isMatch: state.isMatch)
        budget -= 1
      }
      scan.finish()
    }

    func clear(_ collection: String) -> Cleared? { mayReport ? gatekeeper.clear(gathered: collection) : nil }

    func digest(of collection: KeyRange) -> RangeDigest? { nil }
    func documentCount(of collection: String) -> UInt64 { UInt64(states.count) }
    func certificateCount(of collection: String) -> UInt64 { certificates }

    func rest(
      of range: KeyRange, from start: [UInt8], after bytes: Int, budget: inout Int
    ) -> RestListing {
      let others = states(in: range, from: start).filter { !$0.state.isMatch }
      let now = others.prefix(max(budget, 1))
      budget -= now.count
      return RestListing(
        items: now.map { DocumentHash(id: $0.id, hash: $0.state.hash) },
        next: others.dropFirst(now.count).first?.id.bytes)
    }

    private func want(_ id: DocumentID, in collection: String) -> DocumentWant {
      DocumentWant(whole: id, in: collection)
    }

    func lacking(_ items: ArraySlice<DocumentHash>, of collection: String) -> [DocumentWant] {
      items.filter { states[$0.id]?.hash != $0.hash }.map { want($0.id, in: collection) }
    }

    func differing(_ items: ArraySlice<DocumentHash>, of collection: String) -> [DocumentWant] {
      items.filter { item in states[item.id].map { $0.isMatch && $0.hash != item.hash } ?? false }
        .map { want($0.id, in: collection) }
    }

    func leftovers(
      of range: KeyRange, without listed: Set<DocumentID>, from start: [UInt8], budget: inout Int
    ) -> (haves: [DocumentHave], next: [UInt8]?) {
      let left = states(in: range, from: start).filter { $0.state.isMatch && !listed.contains($0.id) }
      let now = left.prefix(max(budget, 1))
      budget -= now.count
      let haves = now.compactMap { document -> DocumentHave? in
        guard let cleared = clear(range.collection) else { return nil }
        return DocumentHave(
          cleared, id: document.id, hash: document.state.hash, vector: VersionVector())
      }
      return (haves, left.dropFirst(now.count).first?.id.bytes)
    }

    func mayAskForAll(of collection: String, count: UInt64?) -> Bool { true }

    func reportsOneByOne(_ leftovers: UInt64, of collection: String, facing others: UInt64) -> Bool {
      reportsOneByOne
    }
  }

  /// What came of comparing.
  private struct Outcome {
    var wanted: Set<DocumentID> = []
    var told: Set<DocumentID> = []
    var isStreamed = false
    var roundTrips = 0
    var answerBytes = 0
  }

  /// Compares until there is nothing left, with budgets of so many records.
  private static func compare(
    _ receiver: Documents, _ sender: Documents, budget: Int = .max, dropsAnswer: Int? = nil
  ) throws -> Outcome {
    let (receiver, sender) = (receiver.ordered, sender.ordered)
    var reconciler = RangeReconciler()
    var responder = RangeResponder(records: sender.states.count)
    var outcome = Outcome()
    var answered = 0
    reconciler.begin([collection])
    while !reconciler.isDone {
      outcome.roundTrips += 1
      try #require(outcome.roundTrips < 10_000)
      var left = budget
      try reconciler.work(receiver, mostOpen: 16, budget: &left)
      let output = reconciler.removeOutput(mostOpen: 16)
      outcome.wanted.formUnion(output.flatMap(\.wants).map(\.id))
      outcome.told.formUnion(output.flatMap(\.haves).map(\.id))
      for question in output.flatMap(\.questions) {
        if case .compare(let theirs) = question.mode, theirs.count == 0 {
          responder.stream(question)
          outcome.wanted.formUnion(
            sender.sorted.filter { $0.state.isMatch && question.range.contains($0.id.bytes) }.map(\.id))
          outcome.isStreamed = outcome.isStreamed || question.range.isWhole
        } else {
          responder.receive(question)
        }
      }
      left = budget
      var answers: [RangeAnswer] = []
      try responder.work(sender, budget: &left) { answers += $0 }
      for answer in answers {
        answered += 1
        var answer = answer
        if answered == dropsAnswer { answer = .equal(answer.request) }
        var out = ByteWriter()
        answer.encode(to: &out)
        outcome.answerBytes += out.count
        try reconciler.receive(answer, receiver, SyncTuning())
      }
    }
    return outcome
  }

  /// Two ends that have some in common.
  private static func ends(
    _ random: inout SeededGenerator, of count: Int
  ) throws -> (receiver: Documents, sender: Documents) {
    var (receiver, sender) = (Documents(), Documents())
    let differs = random.pick([0, 1, 10, 90])
    for number in 0..<count {
      let id = try DocumentID(String(UInt64(number) &* 0x9E37_79B9_7F4A_7C15, radix: 36))
      let state = Documents.State(hash: random.next(), isMatch: random.int(below: 8) > 0)
      (receiver.states[id], sender.states[id]) = (state, state)
      guard random.int(below: 100) < differs else { continue }
      let other = Documents.State(hash: random.next(), isMatch: random.int(below: 2) == 0)
      switch random.int(below: 4) {
      case 0: receiver.states[id] = nil
      case 1: sender.states[id] = nil
      case 2: receiver.states[id] = other
      default: sender.states[id] = other
      }
    }
    return (receiver, sender)
  }

  /// What is lacking at the end of a comparison; empty where all was found.
  private static func missed(_ outcome: Outcome, _ receiver: Documents, _ sender: Documents) -> [String] {
    let (receiver, sender) = (receiver.ordered, sender.ordered)
    var missed: [String] = []
    for (id, state) in sender.sorted where state.isMatch && receiver.states[id]?.hash != state.hash {
      if !outcome.wanted.contains(id) { missed.append("\(id) is not asked for") }
    }
    // What the receiver holds under its interest and the sender has in a state that does not match.
    for (id, state) in receiver.sorted where state.isMatch {
      guard let theirs = sender.states[id], !theirs.isMatch, theirs.hash != state.hash else { continue }
      if !outcome.wanted.contains(id), !outcome.told.contains(id) { missed.append("\(id) is not named") }
    }
    for id in outcome.wanted where receiver.states[id] == sender.states[id] {
      missed.append("\(id) is asked for, and is the same")
    }
    return missed
  }

  @Test(arguments: 0..<100) func `all that differs is found, and nothing else asked for`(seed: UInt64) throws
  {
    var random = SeededGenerator(seed: seed)
    var (receiver, sender) = try Self.ends(&random, of: random.pick([0, 1, 20, 200]))
    receiver.mayReport = random.int(below: 4) > 0
    receiver.hasOtherPeers = random.int(below: 2) == 0
    let outcome = try Self.compare(receiver, sender, budget: random.pick([1, 7, 100, .max]))
    #expect(Self.missed(outcome, receiver, sender) == [])
    #expect(receiver.mayReport || outcome.told.isEmpty)
  }

  @Test func `an answer that hides a difference is noticed by this test`() throws {
    var random = SeededGenerator(seed: 7)
    var shown = 0
    for _ in 0..<20 {
      let (receiver, sender) = try Self.ends(&random, of: 1_000)
      let outcome = try Self.compare(receiver, sender, dropsAnswer: 2)
      if !Self.missed(outcome, receiver, sender).isEmpty { shown += 1 }
    }
    #expect(shown > 0)
  }

  @Test func `equal sets cost one question and one word`() throws {
    var random = SeededGenerator(seed: 1)
    let (both, _) = try Self.ends(&random, of: 1_000)
    let outcome = try Self.compare(both, both)
    #expect(outcome.wanted.isEmpty)
    #expect(outcome.answerBytes <= 4)
    #expect(outcome.roundTrips <= 2)
  }

  @Test func `one difference in ten thousand costs less than two kilobytes of answers`() throws {
    var random = SeededGenerator(seed: 2)
    var both = Documents()
    for number in 0..<10_000 {
      let id = try DocumentID(String(UInt64(number) &* 0x9E37_79B9_7F4A_7C15, radix: 36))
      both.states[id] = Documents.State(hash: random.next(), isMatch: true)
    }
    var sender = both
    let id = random.pick(both.ordered.sorted).id
    sender.states[id] = Documents.State(hash: random.next(), isMatch: true)
    let outcome = try Self.compare(both, sender)
    #expect(outcome.wanted == [id])
    #expect(outcome.answerBytes < 2_048)
  }

  @Test func `a receiver with nothing asks for the documents themselves`() throws {
    var random = SeededGenerator(seed: 3)
    let (_, sender) = try Self.ends(&random, of: 100)
    let outcome = try Self.compare(Documents(), sender)
    #expect(outcome.isStreamed)
    #expect(outcome.answerBytes <= 4)
  }

  @Test func `an answer to what was not asked, or beside its range, ends the session`() throws {
    var reconciler = RangeReconciler()
    var budget = Int.max
    var both = Documents()
    both.states[try DocumentID("a")] = Documents.State(hash: 1, isMatch: true)
    both = both.ordered
    reconciler.begin([Self.collection])
    try reconciler.work(both, mostOpen: 16, budget: &budget)
    let request = try #require(reconciler.removeOutput(mostOpen: 16).first?.questions.first?.request)
    #expect(throws: SyncError.self) { try reconciler.receive(.equal(request + 1), both, SyncTuning()) }
    // A part that begins where its range does is none.
    let bounds: [RangeAnswer.Subrange] = [.init(to: [], fingerprint: Fingerprint())]
    for body in [RangeAnswer.Body.split(bounds + bounds), .rest([], isLast: true)] {
      guard let cleared = both.clear(Self.collection) else { return }
      let answer = RangeAnswer(cleared, request: request, body: body)
      var other = reconciler
      #expect(throws: SyncError.self) { try other.receive(answer, both, SyncTuning()) }
    }
    try reconciler.receive(.equal(request), both, SyncTuning())
    #expect(throws: SyncError.self) { try reconciler.receive(.equal(request), both, SyncTuning()) }
  }

  /// Returns the sizes of what two ends send each other where frames are cut by content.
  private static func sizes(
    _ receiver: Documents, _ sender: Documents, budget: Int
  ) throws -> [[Int]] {
    var reconciler = RangeReconciler()
    var responder = RangeResponder(records: sender.states.count, cutsByContent: true)
    var sizes: [[Int]] = []
    reconciler.begin([collection], cutsByContent: true)
    for _ in 0..<10_000 where !reconciler.isDone {
      // Each goes on until it has to wait for the other, in as many calls as it takes.
      repeat {
        var left = budget
        try reconciler.work(receiver, mostOpen: 16, budget: &left)
        for output in reconciler.removeOutput(mostOpen: 16) {
          let sent = [output.questions.count, output.wants.count, output.haves.count]
          if sent != [0, 0, 0] { sizes.append(sent) }
          for question in output.questions {
            if case .compare(let theirs) = question.mode, theirs.count == 0 {
              responder.stream(question)
            } else {
              responder.receive(question)
            }
          }
        }
      } while reconciler.hasTasks && reconciler.openCount < 16
      var answers: [RangeAnswer] = []
      repeat {
        var left = budget
        try responder.work(sender, budget: &left) { sent in
          sizes.append([sent.count])
          answers += sent
        }
      } while responder.questionCount > 0
      for answer in answers { try reconciler.receive(answer, receiver, SyncTuning()) }
    }
    try #require(reconciler.isDone)
    return sizes
  }

  @Test(arguments: 1...8 as ClosedRange<UInt64>)
  func `frames that are cut by content do not show how much work was done`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let ends = try Self.ends(&random, of: 1_500)
    let (receiver, sender) = (ends.receiver.ordered, ends.sender.ordered)
    let expected = try Self.sizes(receiver, sender, budget: .max)
    #expect(expected.contains { $0.count == 3 } && expected.contains { $0.count == 1 })
    for budget in [1, 7, 200] {
      expectEqual(try Self.sizes(receiver, sender, budget: budget), expected, "with a budget of \(budget)")
    }
  }

  @Test func `a peer that asks about the same ranges again and again is refused`() throws {
    var random = SeededGenerator(seed: 4)
    let sender = try Self.ends(&random, of: 1_000).sender.ordered
    var responder = RangeResponder(records: sender.states.count)
    let error = #expect(throws: SyncError.self) {
      for request in 0..<1_000_000 {
        responder.receive(.send(UInt64(request), KeyRange(collection: Self.collection), isSecret: false))
        var budget = Int.max
        try responder.work(sender, budget: &budget) { _ in }
      }
    }
    #expect(error?.code == .limit)
  }
}
