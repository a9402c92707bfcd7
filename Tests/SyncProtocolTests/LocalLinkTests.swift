import CRDTCore
import DocStore
import SyncProtocol
import TestKit
import Testing

@Suite struct LocalLinkTests {
  /// What a session sent of documents, plain and packed, since `before`.
  private static func sent(
    _ session: Session, since before: SyncStatistics = SyncStatistics()
  ) -> (plain: UInt64, packed: UInt64) {
    let now = session.statistics
    return (now.plainBytesSent - before.plainBytesSent, now.packedBytesSent - before.packedBytesSent)
  }

  private static func pair(
    level: Int? = nil, isLocal: Bool, oneByOne: Bool
  ) throws -> (network: TestNetwork, a: TestPeer, sender: Session) {
    let network = TestNetwork()
    network.configure = {
      $0.isLocal = isLocal
      $0.compressionLevel = level
    }
    let a = try network.addPeer("a")
    let b = try network.addPeer("b")
    let text = String(repeating: "many documents ", count: 20)
    for part in 0..<(oneByOne ? 500 : 1) {
      try a.write { transaction in
        for index in 0..<(oneByOne ? 1 : 500) {
          try transaction.upsert(
            ["text": .string("\(text)\(index)")], id: DocumentID("d\(part)-\(index)"), into: "things")
        }
      }
    }
    // What was committed before is no live change.
    try network.settle()
    try b.subscribe("SELECT * FROM things")
    let (sender, _) = try network.connect(a, b)
    try network.settle()
    try expectEqual(b.documents(), a.documents())
    return (network, a, sender.session)
  }

  @Test(arguments: [true, false])
  func `a first sync on one machine goes as it is, and small changes after it packed`(oneByOne: Bool) throws {
    let (network, a, sender) = try Self.pair(isLocal: true, oneByOne: oneByOne)
    let bulk = Self.sent(sender)
    #expect(sender.statistics.documentsSent == 500)
    // The last piece may be a small one.
    #expect(bulk.packed * 10 > bulk.plain * 9)
    let before = sender.statistics
    try a.write { transaction in
      for index in 0..<20 {
        try transaction.upsert(
          ["text": .string(String(repeating: "new ", count: 20))], id: DocumentID("e\(index)"), into: "things"
        )
      }
    }
    try network.settle()
    let live = Self.sent(sender, since: before)
    #expect(live.packed * 2 < live.plain)
  }

  @Test(arguments: [true, false])
  func `a change alone goes as it is on one machine, and packed behind another`(isLocal: Bool) throws {
    let (network, a, sender) = try Self.pair(isLocal: isLocal, oneByOne: false)
    let text = Value.string(String(repeating: "new ", count: 100))
    func change(_ ids: String...) throws -> (plain: UInt64, packed: UInt64) {
      let before = sender.statistics
      for id in ids { try a.put(id, ["text": text]) }
      try network.settle()
      return Self.sent(sender, since: before)
    }
    let alone = try change("x")
    #expect(isLocal ? alone.packed == alone.plain : alone.packed * 4 < alone.plain)
    let two = try change("y", "z")
    #expect(two.plain == alone.plain * 2)
    #expect(two.packed * 4 < two.plain * (isLocal ? 3 : 1))
  }

  @Test func `a level that was asked for holds on one machine, too`() throws {
    let (_, _, sender) = try Self.pair(level: 1, isLocal: true, oneByOne: false)
    let bulk = Self.sent(sender)
    #expect(bulk.packed * 4 < bulk.plain)
  }

  /// Without the search the same values in all of them are not found, as they are with it.
  @Test func `many small changes are packed without a search for what repeats`() throws {
    func packed(changes: Int, level: Int?) throws -> (plain: UInt64, packed: UInt64) {
      let (network, a, sender) = try Self.pair(level: level, isLocal: true, oneByOne: false)
      let before = sender.statistics
      try a.write { transaction in
        for index in 0..<changes {
          try transaction.update(
            DocumentID("d0-\(index)"), in: "things", [.set(["text"], .string("the same for all"))])
        }
      }
      try network.settle()
      return Self.sent(sender, since: before)
    }
    let (many, searched) = (try packed(changes: 400, level: nil), try packed(changes: 400, level: 2))
    #expect(many.plain == searched.plain && many.packed > searched.packed * 3 / 2)
    // Few are searched, be they as small.
    let (few, alike) = (try packed(changes: 60, level: nil), try packed(changes: 60, level: 2))
    #expect(few.packed < alike.packed * 5 / 4)
  }
}
