import CRDTCore
import CRDTModel
import DocStore
import SyncProtocol
import TestKit
import Testing

@Suite struct SharedEncodingTests {
  private struct Name {
    let document: DocumentKey
    let sequence: UInt64
  }

  private static func change(_ id: String, sequence: UInt64) throws -> Name {
    Name(document: DocumentKey(collection: 1, id: try DocumentID(id)), sequence: sequence)
  }

  /// A form whose bytes hold `text`.
  private static func form(_ text: String) throws -> WireOperationDelta {
    var peer = Peer(1)
    try peer.upsert(["text": .string("")], now: 1_760_000_000_000)
    let before = try #require(peer.document)
    try peer.update([.set(["text"], .string(text))], now: 1_760_000_000_001)
    let after = try #require(peer.document)
    let form = try WireDocument.operationDelta(of: before.stored, to: after.stored, tables: peer.tables)
    return try #require(form)
  }

  /// How often one of `sessions` had to make the form of a change itself.
  private static func timesMade(_ encoding: SharedEncoding, _ change: Name, form: WireOperationDelta?) throws
    -> Int
  {
    var count = 0
    for _ in 0..<3 {
      let found = try encoding.form(of: change.document, in: change.sequence) {
        count += 1
        return form
      }
      expectEqual(found?.bytes, form?.bytes)
    }
    return count
  }

  @Test func `the form of a change is made once for all sessions, and each time for one alone`() throws {
    let encoding = SharedEncoding()
    let form = try Self.form("ab")
    let change = try Self.change("x", sequence: 7)
    encoding.join(1)
    #expect(try Self.timesMade(encoding, change, form: form) == 3)
    encoding.join(2)
    #expect(try Self.timesMade(encoding, change, form: form) == 1)
    // A later change of the same document, and another document of the same group.
    #expect(try Self.timesMade(encoding, Self.change("x", sequence: 8), form: Self.form("c")) == 1)
    #expect(try Self.timesMade(encoding, Self.change("y", sequence: 7), form: nil) == 1)
    encoding.leave(2)
    #expect(try Self.timesMade(encoding, change, form: form) == 3)
  }

  @Test func `long forms, and those of long ago, are made again`() throws {
    let encoding = SharedEncoding()
    encoding.join(1)
    encoding.join(2)
    let form = try Self.form("ab")
    let long = try Self.form(String(repeating: "l", count: 2_000))
    #expect(try Self.timesMade(encoding, Self.change("long", sequence: 1), form: long) == 3)
    let first = try Self.change("x", sequence: 2)
    #expect(try Self.timesMade(encoding, first, form: form) == 1)
    for sequence in 3...10_000 as ClosedRange<UInt64> {
      _ = try encoding.form(of: first.document, in: sequence) { nil }
    }
    #expect(try Self.timesMade(encoding, first, form: form) == 1)
  }
}
