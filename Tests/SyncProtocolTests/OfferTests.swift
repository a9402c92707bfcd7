import CRDTCore
import DocStore
import TestKit
import Testing

@testable import SyncProtocol

/// What a sender offers while something that it sent before waits to be applied.
///
/// They hold rule 1 in `Documentation/Sync.md`.
@Suite struct OfferTests {
  /// A subject that asks for things and holds "a", and to which a group is on its way.
  private func receiving(room: Int = 16) throws -> RawPeer {
    let raw = try RawPeer { $0.tuning.waitingOffers = room }
    try raw.peer.put("a", ["n": .int(1)])
    try raw.open(subscribing: "SELECT * FROM things")
    try raw.sendDocument("b", ["n": .int(2)])
    raw.frames = []
    #expect(raw.batches.count == 1)
    return raw
  }

  private func offer(_ ids: [String], of collection: String = "things", to raw: RawPeer) throws {
    let ids = try ids.map { try DocumentID($0) }
    raw.send(.offer) { out in
      out.writeVarint(ids.count)
      for id in ids {
        out.writeString(collection)
        out.writeBlob(id.bytes)
        out.writeFixed(7 as UInt64)
      }
    }
  }

  @Test func `an offer is looked at when all that was sent before it is here`() throws {
    let raw = try receiving()
    try offer(["a", "b", "c"], to: raw)
    #expect(raw.session.puller.pull.queue.noticedDocuments == 3)
    #expect(raw.sent(.want).isEmpty)
    try raw.apply()
    #expect(raw.session.puller.pull.queue.noticedDocuments == 0)
    // Of both that are here, and differ, the offered state is asked for; what is not here concerns nobody.
    let lists = try raw.sent(.want).map { payload in
      var reader = ByteReader(payload.span.bytes)
      return try WantList(from: &reader)
    }
    #expect(try Set(lists.flatMap(\.wants).map(\.id)) == Set(["a", "b"].map { try DocumentID($0) }))
    #expect(raw.closed == nil)
  }

  @Test func `as many offers as may wait hold the link until what was sent before them is here`() throws {
    let raw = try receiving(room: 2)
    try offer(["a"], to: raw)
    #expect(!raw.session.isHolding)
    try offer(["b", "c"], to: raw)
    #expect(raw.session.isHolding)
    try raw.apply()
    #expect(!raw.session.isHolding)
    #expect(raw.session.puller.pull.queue.noticedDocuments == 0)
    #expect(raw.session.puller.pull.due == .nothing)
    #expect(raw.closed == nil)
  }

  /// Puts a document, and passes its commit on.
  private func put(_ id: String, _ fields: [TextKey: Value], at raw: RawPeer) throws {
    try raw.peer.put(id, fields)
    raw.perform(raw.session.committed(raw.peer.takeCommits(), now: raw.now))
  }

  @Test func `more offers than may wait to be sent are dropped, and all is compared`() throws {
    let raw = try RawPeer {
      $0.tuning.waitingOffers = 10
      $0.compressionLevel = 0
      $0.initialWindowBytes = 16 << 10
    }
    try raw.open(subscribing: "SELECT * FROM things")
    try raw.sendInterest("SELECT * FROM things WHERE n > 10")
    raw.compareThings()
    let queue = raw.session.pusher.queue
    // The peer acknowledges nothing, so that offers wait behind what does not fit into the window.
    try put("large", ["n": .int(11), "text": .string(String(repeating: "a", count: 100_000))], at: raw)
    for number in 0..<10 { try put("early\(number)", ["n": .int(1)], at: raw) }
    #expect(queue.noticedDocuments == 10)
    #expect(!raw.session.pusher.peer.holding.isAwaited)
    for number in 0..<40 {
      try put("late\(number)", ["n": .int(1)], at: raw)
      // Also those that come while the peer has yet to hear that it must reconcile.
      expect(queue.noticedDocuments <= 10)
      expect(raw.session.pusher.peer.holding.isAwaited)
    }
    #expect(raw.sent(.offer).isEmpty && raw.sent(.renew).isEmpty)
    #expect(raw.closed == nil)
  }

  @Test func `those that wait for another group are taken out in their order`() throws {
    var waiting = Waiting<String, Int>()
    waiting.append("first", documents: 2, until: 3)
    waiting.append("second", documents: 1, until: 5)
    waiting.append("third", until: 5)
    #expect(waiting.documentCount == 3)
    #expect(waiting.removeFirst { $0 <= 2 }?.notice == nil)
    #expect(waiting.removeFirst { $0 <= 4 }?.notice == "first")
    #expect(waiting.removeFirst { $0 <= 4 }?.notice == nil)
    #expect(waiting.documentCount == 1)
    waiting.removeAll { $0 == "second" }
    #expect(waiting.documentCount == 0)
    #expect(waiting.removeFirst { $0 <= 5 }?.notice == "third")
    #expect(waiting.isEmpty)
  }
}
