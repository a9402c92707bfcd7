import CRDTCore
import DocStore
import SyncProtocol
import TestKit
import Testing

/// A part of a large group comes as the heads of its documents, and then what they say.
@Suite struct SegmentColumnsTests {
  /// A part of two documents with one thing about it that may be wrong.
  struct Part: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let code: SyncError.Code?
    var form: UInt8 = 4
    var number = 0
    var last: UInt8 = 1
    var count = 2
    var heads = 2
    var flags: UInt8 = 0
    var contents = 2
    var rest: [UInt8] = []

    func encode() throws -> [UInt8] {
      var out = ByteWriter()
      out.write([0, form, 1])
      out.writeVarint(number)
      out.write(last)
      out.writeVarint(count)
      for index in 0..<heads {
        out.writeString(index == 0 ? "things" : "")
        out.writeBlob(try DocumentID("d\(index)").bytes)
        out.write(flags)
      }
      for index in 0..<contents { out.writeBlob(try GoldenMessages.wireDocument(["n": .int(Int64(index))])) }
      out.write(rest)
      return out.bytes
    }
  }

  static let parts = [
    Part(testDescription: "a good one", code: nil),
    Part(testDescription: "of no documents", code: nil, count: 0, heads: 0, contents: 0),
    Part(testDescription: "beyond the last number", code: .limit, number: 1 << 16),
    Part(testDescription: "that is neither the last nor another", code: .malformed, last: 2),
    Part(testDescription: "of an unknown form", code: .malformed, form: 5),
    Part(testDescription: "of more documents than bytes", code: .truncated, count: 1 << 20),
    Part(testDescription: "of more documents than heads", code: .truncated, count: 3),
    Part(testDescription: "of fewer documents than heads", code: .truncated, count: 1),
    Part(testDescription: "without what the last one says", code: .truncated, contents: 1),
    Part(testDescription: "with more than they say", code: .malformed, rest: [0]),
    Part(testDescription: "of unknown flags", code: .malformed, flags: 32),
    Part(testDescription: "that ends in a check", code: .truncated, heads: 1, flags: 16, contents: 0),
  ]

  /// What becomes of a part that a peer sends.
  private static func raw(_ part: Part) throws -> RawPeer {
    let group = try part.encode()
    let raw = try RawPeer()
    try raw.open(subscribing: "SELECT * FROM things")
    raw.sendBeginning(group, of: group.count)
    try raw.apply()
    return raw
  }

  @Test(arguments: parts)
  func `one that is none ends the session, and nothing of it stays`(part: Part) throws {
    let raw = try Self.raw(part)
    #expect(raw.closed?.code == part.code, "\(raw.closed as Any)")
    #expect(try raw.peer.documents().count == (part.code == nil ? part.count : 0))
    #expect(try raw.peer.store.read { try $0.stagedIDs() } == [])
  }
}
