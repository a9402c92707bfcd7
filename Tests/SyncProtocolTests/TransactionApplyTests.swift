import CRDTCore
import DocStore
import Synchronization
import TestKit
import Testing

@testable import SyncProtocol

/// A group is stored whole or not at all, whichever of its documents does not fit.
///
/// They hold rule 4 in `Documentation/Sync.md`.
@Suite struct TransactionApplyTests {
  private final class Seen: Sendable {
    private let commit = Mutex<Commit?>(nil)

    func note(_ commit: Commit) { self.commit.withLock { $0 = commit } }

    var last: Commit? { commit.withLock { $0 } }
  }

  /// A store played by a session, and beside it one that has the same documents and writes on.
  private final class Scene {
    let raw: RawPeer
    let author: TestPeer
    private let seen = Seen()
    private var listener: CommitListener?
    private var noting: CommitListener?

    init(ids: [String], text: Value? = nil, query: String = "SELECT * FROM things") throws {
      raw = try RawPeer()
      author = try raw.network.addPeer("author")
      for id in ids { try author.put(id, text.map { ["n": .int(0), "text": $0] } ?? ["n": .int(0)]) }
      try raw.peer.subscribe(query)
      let (end, _) = try raw.network.connect(author, raw.peer)
      try raw.network.settle()
      raw.network.cut(end)
      listener = author.store.onCommit { [seen] in seen.note($0) }
      try raw.open(subscribing: query)
    }

    /// What the author's last transaction did to each document, as operation deltas.
    func operationDeltas() throws -> [(id: DocumentID, wire: [UInt8])] {
      let commit = try #require(seen.last)
      return try commit.changes.map { change in
        let (before, after) = (try #require(change.before), try #require(change.after))
        let operationDelta = try WireDocument.operationDelta(
          of: StoredDocument(before.bytes.span.bytes, summary: #require(change.beforeSummary)),
          to: StoredDocument(after.bytes.span.bytes, summary: #require(change.afterSummary)),
          tables: RecordTables(keys: change.collection.keys, sites: change.sites))
        return (change.id, try #require(operationDelta).bytes)
      }
    }

    /// A document of the author's, whole.
    func whole(_ id: String) throws -> (id: DocumentID, wire: [UInt8]) {
      try author.store.read { tx in
        let things = try #require(try tx.collection("things"))
        let sites = tx.sites
        var out = ByteWriter()
        _ = try tx.withRecord(things, DocumentID(id)) { record, _ throws in
          try WireDocument.append(
            record, lacking: VersionVector(), tables: RecordTables(keys: things.keys, sites: sites), to: &out)
        }
        return (try DocumentID(id), out.bytes)
      }
    }

    /// Sends documents as groups, and applies these together.
    func send(_ groups: [(id: DocumentID, wire: [UInt8])]...) throws {
      for group in groups { receive(group) }
      try raw.apply()
    }

    func receive(_ documents: [(id: DocumentID, wire: [UInt8])]) {
      var group = ByteWriter()
      group.writeVarint(documents.count)
      for (index, document) in documents.enumerated() {
        // An empty name is the same collection as before.
        group.writeString(index == 0 ? "things" : "")
        group.writeBlob(document.id.bytes)
        group.write(0 as UInt8)
        group.writeBlob(document.wire)
      }
      var stream = ByteWriter()
      stream.writeBlob(group.bytes)
      raw.send(.fragment) { out in
        out.write(1 as UInt8)
        out.writeVarint(stream.count)
        out.write(stream.bytes)
      }
    }

    /// What the subject's transactions come to from now on.
    func note(_ body: @escaping @Sendable (Commit) -> Void) { noting = raw.peer.store.onCommit(body) }

    func value(_ id: String) throws -> Int64? {
      if case .int(let n)? = try raw.peer.document(id)?["n"] { n } else { nil }
    }
  }

  /// Another result than the one that the write comes to.
  private static func spoil(_ wire: inout [UInt8]) {
    // Flags, 48 bits of the base's name, then the check of the result.
    wire[1 + 6] ^= 0xFF
  }

  /// One of three documents is spoiled; the control spoils none.
  @Test(arguments: [0, 1, 2, nil])
  func `a document that comes out wrong keeps those before and after it from being stored`(_ wrong: Int?)
    throws
  {
    let scene = try Scene(ids: ["a", "b", "c"])
    try scene.author.write { tx in
      for id in ["a", "b", "c"] { try tx.update(DocumentID(id), in: "things", [.set(["n"], .int(1))]) }
    }
    var documents = try scene.operationDeltas()
    if let wrong { Self.spoil(&documents[wrong].wire) }
    let before = scene.raw.peer.store.committedSequence
    try scene.send(documents)
    let expected: Int64 = wrong == nil ? 1 : 0
    for id in ["a", "b", "c"] { try expectEqual(scene.value(id), expected, "\(id)") }
    #expect((scene.raw.peer.store.committedSequence == before) == (wrong != nil))
    #expect(scene.raw.closed == nil)
    // All three are asked for in its place, with what is known of them.
    let wants = scene.raw.sent(.want)
    #expect(wants.count == (wrong == nil ? 0 : 1))
    if wrong != nil {
      try scene.send(try ["a", "b", "c"].map { try scene.whole($0) })
      for id in ["a", "b", "c"] { try expectEqual(scene.value(id), 1, "\(id)") }
    }
  }

  @Test(arguments: [true, false])
  func `whole documents beside one that comes out wrong are not stored either`(_ isSpoiled: Bool) throws {
    let scene = try Scene(ids: ["a", "b"])
    try scene.author.put("new", ["n": .int(1)])
    try scene.author.write { tx in
      for id in ["a", "b"] { try tx.update(DocumentID(id), in: "things", [.set(["n"], .int(1))]) }
    }
    var changed = try scene.operationDeltas()
    if isSpoiled { Self.spoil(&changed[1].wire) }
    try scene.send([try scene.whole("new"), changed[0], changed[1]])
    #expect(try scene.value("new") == (isSpoiled ? nil : 1))
    #expect(try scene.value("a") == (isSpoiled ? 0 : 1))
    #expect(try scene.value("b") == (isSpoiled ? 0 : 1))
  }

  /// Each as a group of its own: of one document all of them are one change, of two in turn each is one.
  @Test(arguments: [1, 2])
  func `many small changes of large documents keep one state each, as far as a transaction goes`(_ count: Int)
    throws
  {
    let ids = ["a", "b"].prefix(count).map(\.self)
    let scene = try Scene(ids: ids, text: .string(String(repeating: "x", count: 400_000)))
    let changes = Mutex<[Int]>([])
    scene.note { commit in changes.withLock { $0.append(commit.changes.count) } }
    for n in 1...40 {
      for id in ids {
        try scene.author.write { try $0.update(DocumentID(id), in: "things", [.set(["n"], .int(Int64(n)))]) }
        scene.receive(try scene.operationDeltas())
      }
    }
    try scene.raw.apply()
    for id in ids { try expectEqual(scene.value(id), 40) }
    let made = changes.withLock { $0 }
    // A transaction reads and writes 8 MiB, which is ten changes of 400 KB.
    let most = SyncTuning().applying.recordBytes / 800_000 + 1
    #expect(made.count >= 40 * count / most && made.count <= 40 * count / most + 3, "\(made)")
    #expect(made.allSatisfy { count == 1 ? $0 == 1 : $0 <= most }, "\(made)")
  }

  @Test func `a document that stands twice in a group comes out as if it stood there once`() throws {
    let scene = try Scene(ids: ["a", "b"])
    try scene.author.write { tx in
      for id in ["a", "b"] { try tx.update(DocumentID(id), in: "things", [.set(["n"], .int(1))]) }
    }
    let changed = try scene.operationDeltas()
    try scene.send([changed[0], try scene.whole("b"), changed[0], changed[1], try scene.whole("a")])
    #expect(try scene.value("a") == 1)
    #expect(try scene.value("b") == 1)
    #expect(scene.raw.closed == nil)
    #expect(try scene.raw.peer.store.verify().isIntact)
    #expect(try scene.raw.peer.documents() == scene.author.documents())
  }

  @Test func `a sender that shows what is dead here over the same version hears of it`() throws {
    let scene = try Scene(ids: ["b"])
    try scene.author.put("a", ["n": .int(1)])
    let peer = scene.raw.peer
    // A later deletion, of which only the time is kept.
    try peer.put("a", ["n": .int(2)])
    try peer.remove("a")
    try peer.evict("a")
    for _ in 0..<2 {
      try scene.send([try scene.whole("a"), try scene.whole("b")])
      try expect(!peer.exists("a"))
      expectEqual(scene.raw.outcome?.owed.map(\.version.id), [try DocumentID("a")])
    }
  }

  @Test func `what no subscription asks for does not come back when something was evicted`() throws {
    let scene = try Scene(ids: ["a", "b", "c", "e"], query: "SELECT * FROM things WHERE n < 1")
    let peer = scene.raw.peer
    for id in ["a", "c", "new"] { try scene.author.put(id, ["n": .int(1)]) }
    // Until then what was asked for may be what came to be of no interest on its way.
    try scene.send([try scene.whole("new")])
    #expect(try scene.value("new") == 1)
    for id in ["a", "b", "e"] { try peer.evict(id) }
    try scene.send([try scene.whole("a"), try scene.whole("b"), try scene.whole("c")])
    #expect(try scene.value("a") == nil)
    #expect(try scene.value("b") == 0)
    // What was here stays, in the state that comes.
    #expect(try scene.value("c") == 1)
    // A later group makes it of interest again.
    let former = try scene.whole("a")
    try scene.author.put("a", ["n": .int(0)])
    try scene.send([former], [try scene.whole("a")])
    #expect(try scene.value("a") == 0)
    // Nor does what has come already when nothing is asked for any more.
    try scene.author.put("late", ["n": .int(0)])
    scene.receive([try scene.whole("late")])
    try peer.subscribe()
    try scene.raw.apply()
    #expect(try scene.value("late") == nil)
    // A deletion is known, whether or not anything of the document is here.
    try scene.author.remove("e")
    let before = try scene.author.wireDocument("e")
    try scene.send([try scene.whole("e")])
    #expect(try peer.wireDocument("e") == before)
    #expect(try peer.store.verify().isIntact)
    #expect(scene.raw.closed == nil)
  }
}

extension Store {
  fileprivate var committedSequence: UInt64? { try? read { $0.sequence } }
}
