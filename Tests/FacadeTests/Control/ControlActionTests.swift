import CRDTCore
import DunlinControl
import DunlinKit
import Facade
import Foundation
import TestKit
import Testing

/// What a peer does for other processes.
@Suite(.timeLimit(.minutes(15))) struct ControlActionTests {
  private let peer: Peer
  private let path: String

  init() throws {
    peer = try Peer()
    path = try peer.dunlin.openControlSocket()
  }

  private func fill(_ count: Int, bytes: Int = 0) throws {
    let text = String(repeating: "x", count: bytes)
    for start in stride(from: 0, to: count, by: 1_000) {
      try peer.store.write { transaction in
        let things = transaction.scoped(toCollectionNamed: "things")
        for number in start..<min(start + 1_000, count) {
          try things.upsert(["_id": number, "n": 1, "text": text])
        }
      }
    }
  }

  /// Snapshots that are read beside the one that counts them.
  private func readers() throws -> Int { try peer.store.statistics().readerCount - 1 }

  @Test func `rows come with their columns and with the type of every value`() async throws {
    let client = try await ControlClient(path)
    let inserted = await client.ask(
      #"{"id":1,"do":"insert","collection":"cars","documents":[{"_id":"a","n":{"$counter":3},"raw":{"$bytes":"AQI="},"nan":{"$double":"nan"}}]}"#
    )
    #expect(inserted.result?.integer("documents") == 1, "\(inserted)")
    #expect(try #require(inserted.result?.integer("commit")) > 0)
    let answer = await client.ask(
      #"{"id":2,"do":"query","query":"SELECT raw, n, nan FROM cars WHERE _id = :id","arguments":{"id":"a"}}"#)
    #expect(answer.parts.first?.strings("columns") == ["raw", "n", "nan"])
    let row = try #require(answer.rows.first)
    #expect(row["n"] == .counter(3) && row["raw"] == .bytes([1, 2]))
    if case .double(let number)? = row["nan"] { #expect(number.isNaN) } else { Issue.record("\(row)") }
    #expect(answer.result?.integer("rows") == 1)
    let update = await client.ask(#"{"id":3,"do":"query","query":"UPDATE cars SET x = 1 WHERE _id = 'a'"}"#)
    #expect(update.result?.integer("changed") == 1)
    let hinted = await client.ask(#"{"id":4,"do":"query","query":"SELECT * FROM cars WHERE colour = 1"}"#)
    #expect(hinted.result?.strings("hints").isEmpty == false)
    let all = await client.ask(#"{"id":5,"do":"query","query":"SELECT * FROM cars"}"#)
    #expect(all.parts.first?["columns"] == .null && all.rows.count == 1)
  }

  @Test func `a batch is written whole or not at all, also in several lines`() async throws {
    let client = try await ControlClient(path)
    client.send(#"{"id":1,"do":"insert","collection":"cars","documents":[{"_id":1}],"more":true}"#)
    client.send(#"{"id":1,"documents":[{"_id":2},{"_id":3}],"more":true}"#)
    let other = await client.ask(#"{"id":2,"do":"statistics"}"#)
    #expect(other.result?.integer("documents") == 0)
    #expect(await client.ask(#"{"id":1,"documents":[{"_id":4}]}"#).result?.integer("documents") == 4)
    #expect(try peer.store.statistics().documentCount == 4)
    let bad = await client.ask(
      #"{"id":3,"do":"insert","collection":"cars","documents":[{"_id":5},{"_id":null},{"_id":6}]}"#)
    #expect(bad.error?.document == 1 && bad.error?.code == .invalidDocumentID, "\(bad)")
    let noMap = await client.ask(#"{"id":4,"do":"insert","collection":"cars","documents":[{"_id":5},7]}"#)
    #expect(noMap.error?.document == 1)
    let reserved = await client.ask(#"{"id":5,"do":"insert","collection":"__x","documents":[{"_id":5}]}"#)
    #expect(
      reserved.error?.code.rawValue == "invalidCollectionName" && reserved.error?.document == nil,
      "\(reserved)")
    client.send(#"{"id":6,"do":"insert","collection":"cars","documents":[{"_id":7}],"more":true}"#)
    client.send(#"{"cancel":6}"#)
    #expect(await client.ask(#"{"id":6,"documents":[{"_id":8}]}"#).error?.code == .argument)
    #expect(try peer.store.statistics().documentCount == 4)
  }

  @Test func `a client that vanishes within a long result ends its statement`() async throws {
    try fill(40_000, bytes: 400)
    let client = try await ControlClient(path)
    client.send(#"{"id":1,"do":"query","query":"SELECT * FROM things"}"#)
    #expect(await client.next()?["columns"] == .null)
    #expect(await client.next()?.objects("rows").isEmpty == false)
    // It waits for its client.
    #expect(try readers() == 1)
    client.vanish()
    while try readers() > 0 { await pause() }
    // Nothing is read for the others any less.
    let next = try await ControlClient(path)
    #expect(
      await next.ask(#"{"id":1,"do":"query","query":"SELECT COUNT(*) AS n FROM things"}"#).rows
        == [["n": .int(40_000)]])
  }

  @Test func `a client that is slow holds up no other, and can cancel`() async throws {
    try fill(40_000, bytes: 400)
    let (slow, quick) = (try await ControlClient(path), try await ControlClient(path))
    slow.send(#"{"id":1,"do":"query","query":"SELECT * FROM things"}"#)
    #expect(await slow.next()?["columns"] == .null)
    for id in 1...20 {
      let answer = await quick.ask(#"{"id":\#(id),"do":"query","query":"SELECT * FROM things LIMIT 10"}"#)
      expectEqual(answer.rows.count, 10)
    }
    slow.send(#"{"cancel":1}"#)
    let answer = await slow.answer()
    #expect(answer.error?.code == .cancelled && answer.rows.count < 40_000)
    #expect(try readers() == 0)
    #expect(await slow.ask(#"{"id":1,"do":"statistics"}"#).result?.integer("documents") == 40_000)
  }

  @Test func `documents are erased in one transaction, those that are here and others`() async throws {
    try fill(3)
    let client = try await ControlClient(path)
    let erased = await client.ask(#"{"id":1,"do":"erase","collection":"things","ids":["1","2","nobody"]}"#)
    #expect(erased.result?.integer("found") == 2 && erased.result?.integer("unknown") == 1, "\(erased)")
    #expect(try peer.store.statistics().documentCount == 1)
    let wrong = await client.ask(#"{"id":2,"do":"erase","collection":"thnigs","ids":["0"]}"#)
    #expect(wrong.error?.code == .notFound, "\(wrong)")
    #expect(try peer.store.statistics().documentCount == 1)
  }

  @Test func `a database that closes tells its clients`() async throws {
    try fill(40_000, bytes: 400)
    let client = try await ControlClient(path)
    client.send(#"{"id":1,"do":"watch","query":"SELECT * FROM things LIMIT 1"}"#)
    while try #require(await client.next())["state"] == nil {}
    async let answer = client.answer()
    try peer.dunlin.close()
    let error = await answer.error
    // Where the machine has no time to say it, the connection ends all the same.
    #expect(error == nil || error?.code == .closed, "\(error?.message ?? "")")
    #expect(await client.next() == nil)
    await #expect(throws: ControlClient.NobodyListens.self) { _ = try await ControlClient(path) }
  }

  @Test func `a watched query shows each state, the first rows of it`() async throws {
    let client = try await ControlClient(path)
    client.send(#"{"id":1,"do":"watch","query":"SELECT _id FROM things ORDER BY _id","limit":2}"#)
    func state() async throws -> [Int] {
      var shown = 0
      while let message = await client.next() {
        shown += message.objects("rows").count
        if let state = message.members("state") { return [state.integer("rows") ?? -1, shown] }
      }
      throw CancellationError()
    }
    #expect(try await state() == [0, 0])
    try await peer.store["things"].upsert(["_id": 1])
    #expect(try await state() == [1, 1])
    try fill(3)
    #expect(try await state() == [3, 2])
  }

  @Test func `maintenance runs beside everything else, and tells its progress`() async throws {
    try fill(3_000)
    let client = try await ControlClient(path)
    let verified = await client.ask(#"{"id":1,"do":"verify"}"#)
    #expect(verified.result?.boolean("isIntact") == true && verified.result?.integer("documents") == 3_000)
    let target = peer.directory.file("copy")
    let copied = await client.ask(#"{"id":2,"do":"backup","target":"\#(target)"}"#)
    #expect(copied.result?.integer("documents") == 3_000, "\(copied)")
    #expect(
      await client.ask(#"{"id":3,"do":"backup","target":"\#(target)"}"#).error?.code.rawValue == "exists")
    #expect(await client.ask(#"{"id":4,"do":"evict","collection":"things","document":"7"}"#).result != nil)
    #expect(
      await client.ask(#"{"id":5,"do":"evict","collection":"things","document":"7"}"#).error?.code
        == .notFound)
    let schema = await client.ask(#"{"id":6,"do":"schema","collection":"things"}"#)
    #expect(
      schema.result?.objects("collections").first?.objects("fields").compactMap { $0.string("name") }
        == ["n", "text"], "\(schema)")
    let inspected = await client.ask(#"{"id":7,"do":"inspect","collection":"things"}"#)
    #expect(inspected.result?.integer("documents") == 2_999 && inspected.result?.integer("damaged") == 0)
    let one = await client.ask(#"{"id":8,"do":"inspect","collection":"things","document":"8"}"#)
    #expect(one.result?.members("fields")?["n"] == .int(1))
    #expect(
      await client.ask(#"{"id":9,"do":"collections"}"#).result?.objects("collections")
        == [["name": .string("things"), "documents": .int(2_999)]])
  }

  @Test func `an index that is built, and a statement that fails, are told`() async throws {
    try fill(2_000)
    let client = try await ControlClient(path)
    let built = await client.ask(#"{"id":1,"do":"query","query":"CREATE INDEX byN ON things (n)"}"#)
    #expect(built.result != nil, "\(built)")
    let again = await client.ask(#"{"id":2,"do":"query","query":"CREATE INDEX byN ON things (n)"}"#)
    #expect(again.error?.code.rawValue == "indexExists")
    let text = "CREATE INDEX other ON things (a.`b c` DESC, (lower(n)))"
    #expect(await client.ask(#"{"id":3,"do":"query","query":"\#(text)"}"#).result != nil)
    let schema = await client.ask(#"{"id":4,"do":"schema","collection":"things"}"#)
    let indexes = schema.result?.objects("collections").first?.objects("indexes") ?? []
    #expect(indexes.map { $0.strings("keys") } == [["n"], ["a.`b c` DESC", "(lower(n))"]], "\(schema)")
  }

  @Test func `the place of a mistake is told in numbers beside the message`() async throws {
    let client = try await ControlClient(path)
    client.send(#"{"id":1,"do":"query","query":"SELECT *\nFRM cars"}"#)
    let error = try #require(await client.next()?.members("error"))
    #expect(error["line"] == .int(2) && error["column"] == .int(1), "\(error)")
    #expect(error.string("excerpt") == "FRM cars\n^")
    let message = try #require(error.string("message"))
    #expect(!message.contains("\n") && !message.contains("(line "), "\(message)")
  }

  @Test func `a peer tells how it stands, who is there, and why a document is not`() async throws {
    let other = try Peer("phone")
    try await peer.store["cars"].upsert(["_id": "c1"])
    let subscription = try other.dunlin.sync.registerSubscription(query: "SELECT * FROM cars")
    try other.connect(to: peer)
    try await other.wait(for: "cars") { !$0.isEmpty }
    let client = try await ControlClient(path)
    var link: [TextKey: Value] = [:]
    while link.integer("lag") != 0 {
      let status = try #require(await client.ask(#"{"id":1,"do":"status"}"#).result)
      expect(status.string("name") == "tablet" && status.string("identity") == "development")
      expect(status.boolean("isSyncing") == true && status.strings("listening").count == 1)
      expectEqual(status.integer("process"), Int(getpid()))
      let found = try #require(status.objects("peers").first)
      expectEqual(found.string("name"), "phone")
      link = try #require(found.objects("connections").first)
    }
    #expect(try #require(link.integer("documentsSent")) >= 1)
    func why(_ document: String, _ peer: String) async -> ControlClient.Answer {
      await client.ask(
        #"{"id":2,"do":"why","collection":"cars","document":"\#(document)","peer":"\#(peer)"}"#)
    }
    let there = await why("c1", "phone")
    #expect(there.result?.boolean("isThere") == true, "\(there)")
    #expect(there.result?.string("hint") == nil)
    let absent = await why("c2", "phone")
    #expect(absent.result?.string("text")?.contains("no such document") == true)
    #expect(absent.result?.string("hint") == nil)
    // What looks like a number may be a text, and what is in quotes a number.
    try await peer.store["cars"].upsert(["_id": "7"])
    try await peer.store["cars"].upsert(["_id": 8])
    let text = await why("7", "phone")
    #expect(text.result?.string("text")?.contains("no such document") == false, "\(text)")
    #expect(
      text.result?.string("hint")
        == #"No document has the number 7 as its _id, so this is about the one that has the text "7"."#)
    let number = await why(#"\"8\""#, "phone")
    #expect(number.result?.string("text")?.contains("no such document") == false, "\(number)")
    #expect(
      number.result?.string("hint")
        == #"No document has the text "8" as its _id, so this is about the one that has the number 8."#)
    #expect(await why("8", "phone").result?.string("hint") == nil)
    let neither = await why("9", "phone")
    #expect(neither.result?.string("text")?.contains("no such document") == true)
    #expect(
      neither.result?.string("hint")
        == #"The _id is taken to be the number 9. There is no document here that has the text "9", either."#)
    // A fraction is no id, so it is a text.
    try await peer.store["cars"].upsert(["_id": "1.5"])
    #expect(await why("1.5", "phone").result?.string("text")?.contains("no such document") == false)
    // The other peer runs a query on its own data.
    try await other.store["bikes"].upsert(["_id": "b1", "gears": 7])
    let asked = await client.ask(
      #"{"id":3,"do":"ask","query":"SELECT gears FROM bikes WHERE _id = :id","arguments":{"id":"b1"},"peer":"phone"}"#
    )
    #expect(asked.rows == [["gears": .int(7)]] && asked.result?.integer("rows") == 1, "\(asked)")
    #expect(asked.parts.first?.strings("columns") == ["gears"])
    let stranger = await client.ask(#"{"id":4,"do":"ask","query":"SELECT * FROM bikes","peer":"watch"}"#)
    #expect(stranger.error?.code == .notFound && stranger.error?.message.contains("phone") == true)
    let nobody = await why("c1", "watch")
    #expect(nobody.error?.code == .notFound && nobody.error?.message.contains("phone") == true)
    subscription.cancel()
    try other.dunlin.close()
  }
}
