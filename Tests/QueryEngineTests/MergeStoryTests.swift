import CRDTCore
import DocStore
import QueryEngine
import TestKit
import Testing

/// The merge cases that the file of cases tells in prose.
@Suite struct MergeStoryTests {
  /// Two peers that both hold `start`.
  private func withPeers(
    _ start: [TextKey: Value], _ body: (_ a: CasePeer, _ b: CasePeer) throws -> Void
  ) throws {
    try TemporaryDirectory.with { directory in
      let a = try CasePeer(directory.file("a"), site: 1)
      let b = try CasePeer(directory.file("b"), site: 2)
      defer {
        a.store.close()
        b.store.close()
      }
      _ = try a.store.write { try $0.upsert(start.merging(["_id": .string("d")]) { $1 }, into: "t") }
      try b.receive(from: a)
      try body(a, b)
    }
  }

  private func sync(_ a: CasePeer, _ b: CasePeer) throws {
    try a.receive(from: b)
    try b.receive(from: a)
    try a.receive(from: b)
  }

  private func expect(_ expected: [TextKey: Value], at peers: CasePeer...) throws {
    for peer in peers {
      try expectEqual(peer.documents("t"), [.map(expected.merging(["_id": .string("d")]) { $1 })])
    }
  }

  @Test func `an increment that has seen the restart counts on from it`() throws {
    try withPeers(["n": .counter(10)]) { a, b in
      _ = try a.engine.execute("UPDATE t APPLY n RESTART WITH 100 WHERE _id = 'd'")
      try sync(a, b)
      _ = try b.engine.execute("UPDATE t APPLY n INCREMENT BY 5 WHERE _id = 'd'")
      try sync(a, b)
      try expect(["n": .counter(105)], at: a, b)
    }
  }

  @Test func `eviction is local, and what others hold comes back when it is asked for`() throws {
    try withPeers(["a": .int(1)]) { a, b in
      _ = try a.engine.execute("EVICT FROM t WHERE _id = 'd'")
      try b.receive(from: a)
      #expect(try a.documents("t").isEmpty)
      try expect(["a": .int(1)], at: b)
      try a.receive(from: b)
      try expect(["a": .int(1)], at: a)
    }
  }

  @Test(arguments: [true, false])
  func `an object that is replaced takes in what another device set in it meanwhile`(isLater: Bool) throws {
    try withPeers(["addr": .map(["street": .string("s"), "city": .string("c"), "zip": .string("z")])]) {
      a, b in
      let edit = { _ = try b.engine.execute("UPDATE t SET addr.zip = 'z9' WHERE _id = 'd'") }
      let replace = {
        _ = try a.store.write { transaction in
          for text in ["UNSET addr", "SET addr = {'street': 's2', 'city': 'c2'}"] {
            _ = try a.engine.execute(DQL.parse("UPDATE t \(text) WHERE _id = 'd'"), in: transaction)
          }
        }
      }
      try isLater ? replace() : edit()
      try isLater ? edit() : replace()
      try sync(a, b)
      var address: [TextKey: Value] = ["street": .string("s2"), "city": .string("c2")]
      // The removal is of what was there: an edit that comes after it stays, one from before does not.
      if isLater { address["zip"] = .string("z9") }
      try expect(["addr": .map(address)], at: a, b)
    }
  }

  @Test func `two large fields make a document over the hard limit, which both keep and can change`() throws {
    try withPeers(["big": .string("-")]) { a, b in
      let text = Value.string(String(repeating: "x", count: 3 << 20))
      _ = try a.engine.execute("UPDATE t SET one = :s WHERE _id = 'd'", arguments: ["s": text])
      _ = try b.engine.execute("UPDATE t SET two = :s WHERE _id = 'd'", arguments: ["s": text])
      try sync(a, b)
      try expect(["big": .string("-"), "one": text, "two": text], at: a, b)
      let oversize = "SELECT COUNT(*) AS n FROM system:oversize_documents"
      for peer in [a, b] {
        _ = try peer.engine.execute("UPDATE t SET big = 'still' WHERE _id = 'd'")
        try expectEqual(peer.engine.execute(oversize).rows[0].values()["n"], .int(1))
      }
      _ = try a.engine.execute("UPDATE t UNSET one WHERE _id = 'd'")
      #expect(try a.engine.execute(oversize).rows[0].values()["n"] == .int(0))
    }
  }
}
