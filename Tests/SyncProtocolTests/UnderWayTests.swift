import CRDTCore
import DocStore
import Testing

@testable import SyncProtocol

/// What went out in answers, and what the peer says that it began to send before it had that.
@Suite struct UnderWayTests {
  private static func key(_ name: String) throws -> DocumentKey {
    DocumentKey(collection: 1, id: try DocumentID(name))
  }

  @Test func `what is on its way need not be sent for what was begun before it was there`() throws {
    let key = try Self.key("a")
    var underWay = UnderWay(limit: 4)
    #expect(!underWay.covers(key, hash: 1, begunWith: 5))
    underWay.insert(key, hash: 1, group: 10)
    #expect(underWay.covers(key, hash: 1, begunWith: 5))
    #expect(!underWay.covers(key, hash: 2, begunWith: 5))
    underWay.applied([9, 0], frames: 4)
    #expect(underWay.covers(key, hash: 1, begunWith: 5))
    underWay.applied([10], frames: 6)
    #expect(underWay.covers(key, hash: 1, begunWith: 6))
    #expect(!underWay.covers(key, hash: 1, begunWith: 7))
    // A part of a group is no more than the first of them.
    underWay.applied([10], frames: 8)
    #expect(!underWay.covers(key, hash: 1, begunWith: 7))
  }

  @Test func `changes that the peer gets lead on, others end it`() throws {
    let key = try Self.key("a")
    var underWay = UnderWay(limit: 4)
    underWay.insert(key, hash: 1, group: 10)
    underWay.follow(key, from: 1, to: 2, group: 11)
    #expect(underWay.covers(key, hash: 2, begunWith: 5))
    underWay.applied([10], frames: 3)
    #expect(underWay.covers(key, hash: 2, begunWith: 5))
    underWay.applied([11], frames: 6)
    #expect(underWay.covers(key, hash: 2, begunWith: 6))
    #expect(!underWay.covers(key, hash: 2, begunWith: 7))
    underWay.follow(key, from: 2, to: nil, group: 12)
    #expect(underWay.isEmpty)
    // What did not begin where it was sent leads nowhere.
    underWay.insert(key, hash: 1, group: 10)
    underWay.follow(key, from: 2, to: 3, group: 12)
    #expect(underWay.isEmpty)
    underWay.insert(key, hash: 1, group: 13)
    underWay.remove(group: 13)
    #expect(underWay.isEmpty)
  }

  @Test func `no more is kept than there is room for`() throws {
    var underWay = UnderWay(limit: 4)
    let keys = try (0..<5).map { try Self.key("d\($0)") }
    for (index, key) in keys[..<4].enumerated() { underWay.insert(key, hash: 1, group: UInt64(10 + index)) }
    underWay.applied([10, 11], frames: 3)
    // What is there goes first.
    underWay.insert(keys[4], hash: 1, group: 14)
    #expect(keys.map { underWay.contains($0) } == [false, false, true, true, true])
    let more = try (0..<2).map { try Self.key("e\($0)") }
    for key in more { underWay.insert(key, hash: 1, group: 15) }
    #expect(underWay.contains(more[1]))
    #expect((keys + more).count { underWay.contains($0) } <= 4)
  }
}

/// What waits to be answered, and is by an answer to something else.
@Suite struct RequestQueueTests {
  @Test func `what went out whole since it was asked for is answered`() throws {
    let key = DocumentKey(collection: 1, id: try DocumentID("a"))
    var queue = RequestQueue()
    queue.append(RequestGroup(requests: [], binding: 100))
    queue.noteWhole(key, with: 7)
    queue.append(RequestGroup(requests: []))
    let (one, two) = (queue.removeFirst(), queue.removeFirst())
    let first = try #require(one)
    let second = try #require(two)
    #expect(queue.answer(to: key, of: first) == 7)
    #expect(queue.answer(to: key, of: second) == nil)
    // Nobody waits any more.
    let none = queue.removeFirst()
    #expect(none == nil)
    #expect(!queue.hasAnswered)
  }
}

/// What binds documents that were asked for as a whole.
@Suite struct RecentGroupsTests {
  private static func places(_ numbers: Int...) -> [StoredPlace] {
    numbers.map { StoredPlace(collection: 1, number: DocumentNumber(UInt64($0))) }
  }

  @Test func `a binding lasts while any answer to it is under way`() {
    var recent = RecentGroups(after: 0)
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
