import CRDTCore
import DocStore
import SyncProtocol
import TestKit
import Testing

/// A sender sends much data together only after its own questions are answered, or after a delay.
@Suite struct GatheringTests {
  private func raw(asking count: Int) throws -> RawPeer {
    let raw = try RawPeer()
    let ids = try (0..<count).map { try DocumentID("document-\($0)") }
    try raw.peer.write { transaction in
      for id in ids { try transaction.upsert(["n": .int(1)], id: id, into: "things") }
    }
    try raw.open(subscribing: "SELECT * FROM things")
    try raw.sendInterest("SELECT * FROM things")
    raw.send(.compare) { out in
      out.writeVarint(1)
      out.writeVarint(0)
    }
    let wants = ids.map { DocumentWant(whole: $0, in: "things") }
    raw.send(.want) { out in
      WantList(reconciliation: 1, isTransaction: false, isGraft: false, goesOn: false, wants: wants).encode(
        to: &out)
    }
    raw.send(.asked) { $0.writeVarint(1) }
    return raw
  }

  private func groups(_ raw: RawPeer) -> Int { raw.sent(.fragment).count + raw.sent(.chunk).count }

  @Test func `it waits for the answer`() throws {
    let raw = try raw(asking: SyncLimits.gatheredDocuments)
    defer { raw.peer.close() }
    let question = try #require(raw.sent(.compare).first)
    #expect(groups(raw) == 0)
    var reader = ByteReader(question.span.bytes)
    _ = (try reader.readVarint(), try reader.readVarint())
    let request = try RangeQuestion(from: &reader).request
    raw.send(.answer) { out in
      out.writeVarint(1)
      out.writeVarint(1)
      RangeAnswer.equal(request).encode(to: &out)
    }
    #expect(groups(raw) > 0)
    #expect(raw.closed == nil)
  }

  @Test func `it does not wait for long`() throws {
    let raw = try raw(asking: SyncLimits.gatheredDocuments)
    defer { raw.peer.close() }
    raw.tick(after: SyncLimits.gatheringDelay - .milliseconds(1))
    #expect(groups(raw) == 0)
    raw.tick(after: .milliseconds(1))
    #expect(groups(raw) > 0)
    #expect(raw.closed == nil)
  }

  @Test func `little is sent at once`() throws {
    let raw = try raw(asking: SyncLimits.gatheredDocuments - 1)
    defer { raw.peer.close() }
    #expect(raw.sent(.compare).count == 1)
    #expect(groups(raw) > 0)
  }
}
