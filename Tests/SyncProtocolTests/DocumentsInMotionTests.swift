import CRDTCore
import DocStore
import Testing

@testable import SyncProtocol

/// What the peer says of documents that are on their way to it.
///
/// They hold rule 2 in `Documentation/Sync.md`.
@Suite struct DocumentsInMotionTests {
  private static func key(_ name: String) throws -> DocumentKey {
    DocumentKey(collection: 1, id: try DocumentID(name))
  }

  private static func motion(limit: Int = 4) -> DocumentsInMotion {
    var tuning = SyncTuning()
    tuning.documentsInMotion = limit
    tuning.contendedDocuments = limit
    return DocumentsInMotion(tuning)
  }

  @Test func `what is on its way need not be sent for what was said before it was there`() throws {
    let key = try Self.key("a")
    var motion = Self.motion()
    #expect(motion.judge(key, hash: 1, seen: 5) == .lacking)
    motion.insert(key, hash: 1, transaction: 10, isWhole: true)
    #expect(motion.judge(key, hash: 1, seen: 5) == .coming)
    #expect(motion.judge(key, hash: 2, seen: 5) == .lacking)
    motion.noteSent([9, 0], from: 4)
    #expect(motion.judge(key, hash: 1, seen: 5) == .coming)
    motion.noteSent([10], from: 6)
    #expect(motion.judge(key, hash: 1, seen: 5) == .coming)
    #expect(motion.judge(key, hash: 1, seen: 6) == .lacking)
    // A part of a group is no more than the first of them.
    motion.noteSent([10], from: 8)
    #expect(motion.judge(key, hash: 1, seen: 6) == .lacking)
  }

  @Test func `changes that the peer gets lead on, others end it`() throws {
    let key = try Self.key("a")
    var motion = Self.motion()
    motion.insert(key, hash: 1, transaction: 10, isWhole: true)
    motion.follow(key, from: 1, to: 2, transaction: 11)
    #expect(motion.judge(key, hash: 2, seen: 5) == .coming)
    motion.noteSent([10, 11], from: 3)
    #expect(motion.judge(key, hash: 2, seen: 3) == .coming)
    #expect(motion.judge(key, hash: 2, seen: 4) == .lacking)
    motion.follow(key, from: 2, to: nil, transaction: 12)
    #expect(motion.isEmpty)
    // What did not begin where it was sent leads nowhere.
    motion.insert(key, hash: 1, transaction: 10, isWhole: true)
    motion.follow(key, from: 2, to: 3, transaction: 12)
    #expect(motion.isEmpty)
    motion.insert(key, hash: 1, transaction: 13, isWhole: true)
    motion.remove(key, of: 12)
    #expect(motion.contains(key))
    motion.remove(key, of: 13)
    #expect(motion.isEmpty)
  }

  @Test func `a write of the peer that was merged here is met by what is on its way`() throws {
    let key = try Self.key("a")
    var motion = Self.motion()
    motion.insert(key, hash: 1, transaction: 10, isWhole: true)
    motion.meet(key, from: 1, to: 2)
    #expect(motion.judge(key, hash: 2, seen: 0) == .converged(hash: 2))
    // It is no answer to a request: the peer may have evicted its own since.
    #expect(motion.transaction(with: key, hash: 2, seen: 0) == nil)
    motion.meet(key, from: 3, to: 4)
    #expect(motion.isEmpty)
  }

  @Test func `a request is answered by what was sent and not applied when the peer asked`() throws {
    let key = try Self.key("a")
    var motion = Self.motion()
    motion.insert(key, hash: 1, transaction: 10, isWhole: true)
    #expect(motion.transaction(with: key, hash: 1, seen: 0) == 10)
    #expect(motion.transaction(with: key, hash: 2, seen: 0) == nil)
    motion.noteSent([10], from: 1)
    #expect(motion.transaction(with: key, hash: 1, seen: 0) == 10)
    #expect(motion.transaction(with: key, hash: 1, seen: 1) == nil)
    // A delta is none: the peer may have lost its base since.
    motion.insert(key, hash: 1, transaction: 11, isWhole: false)
    #expect(motion.transaction(with: key, hash: 1, seen: 1) == nil)
  }

  @Test func `no more is kept than there is room for`() throws {
    var motion = Self.motion()
    let keys = try (0..<5).map { try Self.key("d\($0)") }
    for (index, key) in keys[..<4].enumerated() {
      motion.insert(key, hash: 1, transaction: UInt64(10 + index), isWhole: true)
    }
    motion.noteSent([10, 11], from: 3)
    // What is there goes first.
    motion.noteApplied(4)
    motion.insert(keys[4], hash: 1, transaction: 14, isWhole: true)
    #expect(keys.map { motion.contains($0) } == [false, false, true, true, true])
    let more = try (0..<2).map { try Self.key("e\($0)") }
    for key in more { motion.insert(key, hash: 1, transaction: 15, isWhole: true) }
    #expect(motion.contains(more[1]))
    #expect((keys + more).count { motion.contains($0) } <= 4)
  }

  @Test func `room is made for a quarter at once, or all is forgotten`() throws {
    var motion = Self.motion(limit: 8)
    let keys = try (0..<9).map { try Self.key("d\($0)") }
    for (index, key) in keys[..<8].enumerated() {
      motion.insert(key, hash: 1, transaction: UInt64(10 + index), isWhole: true)
    }
    motion.noteSent([10], from: 1)
    motion.noteApplied(1)
    motion.insert(keys[8], hash: 1, transaction: 18, isWhole: true)
    #expect(keys.map { motion.contains($0) } == [Bool](repeating: false, count: 8) + [true])
  }

  @Test func `a document that both write is sent as deltas for sixteen changes`() throws {
    let key = try Self.key("a")
    var motion = Self.motion()
    let isCounted = motion.countContended(key)
    #expect(!isCounted)
    motion.contend(key)
    #expect(motion.isContended(key))
    var count = 0
    while motion.countContended(key) { count += 1 }
    #expect(count == 16)
    #expect(!motion.isContended(key))
  }

  @Test func `of a converged document the last state is verified`() throws {
    var motion = Self.motion()
    let offer = try GoldenMessages().offer
    let key = try Self.key("a")
    motion.noteConverged(offer, of: key, now: .seconds(3))
    motion.noteConverged(offer, of: key, now: .seconds(5))
    #expect(motion.convergedCount == 1)
    #expect(motion.convergedSince == .seconds(3))
    #expect(motion.removeConverged() == [offer])
    #expect(motion.convergedCount == 0)
  }
}

/// What binds documents that were asked for as a whole.
@Suite struct RecentTransactionsTests {
  private static func places(_ numbers: Int...) -> [StoredPlace] {
    numbers.map { StoredPlace(collection: 1, number: DocumentNumber(UInt64($0))) }
  }

  @Test func `a binding lasts while any answer to it is under way`() {
    var recent = RecentTransactions(after: 0)
    let asked = recent.bind(Self.places(1, 2))
    let answer = recent.makeName()
    #expect(asked != answer)
    recent.removeBindings(except: [asked])
    #expect(recent.contains(Self.places(2)[0]))
    recent.bind(asked, with: [answer])
    recent.removeBindings(except: [answer])
    #expect(recent.contains(Self.places(2)[0]))
    let begun = recent.begun(after: 5)
    #expect(begun.contains(Self.places(1)[0]))
    recent.removeBindings(except: [])
    #expect(!recent.contains(Self.places(2)[0]))
  }
}
