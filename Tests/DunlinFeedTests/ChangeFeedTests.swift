import CRDTCore
import DocStore
import DunlinFeed
import Foundation
import QueryEngine
import Synchronization
import TestKit
import Testing

/// Changes one by one: as they are committed, and from the log.
@Suite(.timeLimit(.minutes(15))) struct ChangeFeedTests {
  // MARK: - As they are committed

  @Test func `a change comes with the value before and the value now`() async throws {
    let fixture = try FeedFixture()
    try fixture.put("old", ["n": .int(1)])
    let reader = try fixture.reader()
    #expect(try await reader.words() == [])
    try fixture.put("a", ["n": .int(1)])
    try fixture.put("a", ["n": .int(2)])
    try fixture.put("old", ["m": .int(3)])
    try fixture.remove("a")
    try fixture.evict("old")
    try fixture.put("a", ["n": .int(5)])
    #expect(
      try await reader.words() == [
        "+a n=1 <- none", "=a n=2 <- n=1", "=old m=3,n=1 <- n=1", "-a none <- n=2", "-old none <- m=3,n=1",
        "+a n=5 <- none",
      ])
    #expect(try await reader.words() == [])
  }

  @Test func `an erasure comes as a removal that does not say what was erased`() async throws {
    let fixture = try FeedFixture()
    let reader = try fixture.reader()
    try fixture.put("a", ["n": .int(1)])
    try fixture.write { _ = try $0.erase(DocumentID("a"), in: "cars") }
    let words = try await reader.words()
    #expect(words.count == 2 && words.last?.hasPrefix("-a none <- ") == true)
    #expect(words.last?.contains("n=1") == false, "\(words)")
  }

  @Test func `a document comes and goes as it begins and ceases to match`() async throws {
    let fixture = try FeedFixture()
    let reader = try fixture.reader("SELECT * FROM cars WHERE n > 5")
    try fixture.put("a", ["n": .int(1)])
    try fixture.put("a", ["n": .int(6)])
    try fixture.put("a", ["n": .int(7)])
    try fixture.put("a", ["n": .int(2)])
    try fixture.remove("a")
    try fixture.put("b", ["n": .int(9)], into: "boats")
    #expect(try await reader.words() == ["+a n=6 <- none", "=a n=7 <- n=6", "-a none <- n=7"])
  }

  @Test func `a write that leaves a document as it was is no change`() async throws {
    let fixture = try FeedFixture()
    let reader = try fixture.reader()
    try fixture.put("a", ["n": .int(1)])
    try fixture.put("a", ["n": .int(1)])
    #expect(try await reader.words() == ["+a n=1 <- none"])
  }

  @Test func `what a transaction does to one document in several groups comes as one change`() async throws {
    let fixture = try FeedFixture()
    let reader = try fixture.reader()
    try fixture.put("a", ["n": .int(0)])
    try fixture.write { tx in
      try tx.upsert(["n": .int(1)], id: DocumentID("a"), into: "cars")
      try tx.beginGroup()
      try tx.upsert(["n": .int(2)], id: DocumentID("a"), into: "cars")
      try tx.upsert(["n": .int(3)], id: DocumentID("b"), into: "cars")
    }
    #expect(try await reader.words() == ["+a n=0 <- none", "=a n=2 <- n=0", "+b n=3 <- none"])
  }

  @Test func `several queries make one feed, in the order of the commits`() async throws {
    let fixture = try FeedFixture()
    let filter = try FeedFilter(
      dql: ["SELECT * FROM cars WHERE n = :n", "SELECT * FROM boats", "SELECT * FROM cars WHERE n = 3"],
      arguments: ["n": .int(1)])
    let reader = try fixture.hub.read(filter)
    for n in 0..<5 { try fixture.put("\(n)", ["n": .int(Int64(n))]) }
    try fixture.put("b", ["n": .int(1)], into: "boats")
    try fixture.put("1", ["n": .int(3)])
    #expect(
      try await reader.words() == ["+1 n=1 <- none", "+3 n=3 <- none", "+b n=1 <- none", "=1 n=3 <- n=1"])
  }

  @Test func `a reader waits for a commit, and for no longer than it is asked to`() async throws {
    let fixture = try FeedFixture()
    let reader = try fixture.reader()
    let idle = try #require(try await reader.next(waiting: .milliseconds(300)))
    #expect(idle.items.isEmpty)
    async let next = reader.next()
    try fixture.put("a", ["n": .int(1)])
    #expect(try await next?.items.map(\.words) == ["+a n=1 <- none"])
    let waiting = Task { try await reader.next() }
    try await Task.sleep(for: .milliseconds(50))
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
    // It is as good as before.
    try fixture.put("b", ["n": .int(2)])
    #expect(try await reader.next()?.items.map(\.words) == ["+b n=2 <- none"])
  }

  @Test func `readers end when the database is closed, and leave nothing behind`() async throws {
    let fixture = try FeedFixture()
    let reader = try fixture.reader()
    async let end = reader.next()
    try await Task.sleep(for: .milliseconds(50))
    fixture.hub.close()
    #expect(try await end == nil)
    #expect(throws: FeedError.self) { try fixture.reader() }
    do {
      let other = try FeedFixture()
      var readers = try (0..<3).map { _ in try other.reader() }
      #expect(other.hub.readerCount == 3)
      readers.removeAll()
      #expect(other.hub.readerCount == 0)
      let ended = try other.reader()
      async let nothing = ended.next()
      try await Task.sleep(for: .milliseconds(50))
      ended.end()
      #expect(try await nothing == nil)
      #expect(try await ended.next() == nil)
    }
  }

  @Test func `the position moves on where no change concerns the reader`() async throws {
    let fixture = try FeedFixture()
    let reader = try fixture.reader()
    let start = reader.position
    for n in 0..<10 { try fixture.put("\(n)", [:], into: "boats") }
    let batch = try await reader.all()
    #expect(batch.items.isEmpty)
    #expect(batch.position != start)
    #expect(try batch.position == fixture.now())
    #expect(try await fixture.reader(after: batch.position).words() == [])
  }

  // MARK: - From the log

  @Test func `after a resumption each document comes once, as it is, and what it was is unknown`()
    async throws
  {
    let fixture = try FeedFixture()
    for id in ["a", "b", "c", "d"] { try fixture.put(id, ["n": .int(0)]) }
    let position = try fixture.now()
    try fixture.put("a", ["n": .int(1)])
    try fixture.put("b", ["n": .int(1)])
    try fixture.put("a", ["n": .int(2)])
    try fixture.remove("c")
    try fixture.evict("d")
    try fixture.put("e", ["n": .int(3)])
    try fixture.put("gone", ["n": .int(3)])
    try fixture.remove("gone")
    try fixture.evict("e")
    try fixture.put("e", ["n": .int(4)])
    let reader = try fixture.reader(after: position)
    #expect(
      try await reader.words() == [
        "+b n=1 <- ? log", "+a n=2 <- ? log", "-c none <- ? log", "-d none <- ? log", "-gone none <- ? log",
        "+e n=4 <- ? log",
      ])
    // From then on it goes by commits.
    try fixture.put("a", ["n": .int(3)])
    #expect(try await reader.words() == ["=a n=3 <- n=2"])
  }

  @Test func `after a resumption a document that does not match comes as removed, since it may have matched`()
    async throws
  {
    let fixture = try FeedFixture()
    try fixture.put("a", ["n": .int(6)])
    try fixture.put("b", ["n": .int(6)])
    let position = try fixture.now()
    try fixture.put("a", ["n": .int(1)])
    try fixture.put("b", ["n": .int(7)])
    #expect(
      try await fixture.reader("SELECT * FROM cars WHERE n > 5", after: position).words()
        == ["-a none <- ? log", "+b n=7 <- ? log"])
    // One that cannot match by its id is none of the reader's business.
    #expect(
      try await fixture.reader("SELECT * FROM cars WHERE _id = 'b' AND n > 5", after: position).words()
        == ["+b n=7 <- ? log"])
  }

  @Test func `from the beginning of the log every document comes`() async throws {
    let fixture = try FeedFixture()
    for n in 0..<600 { try fixture.put("\(n)", ["n": .int(Int64(n))]) }
    let start = FeedPosition.beginning(of: fixture.store)
    #expect(try await fixture.reader(after: start).words().count == 600)
  }

  @Test(arguments: [1, 7, 300]) func `who goes on from any event gets all that comes after it`(_ size: Int)
    async throws
  {
    let fixture = try FeedFixture()
    let start = try fixture.now()
    for first in stride(from: 0, to: 900, by: size) {
      try fixture.write { tx in
        for n in first..<min(first + size, 900) {
          try tx.upsert(["n": .int(Int64(n))], id: DocumentID("\(n)"), into: "cars")
        }
      }
    }
    let items = try await fixture.reader(after: start).all().items
    #expect(items.map(\.words) == (0..<900).map { "+\($0) n=\($0) <- ? log" })
    for index in stride(from: 0, to: 900, by: 131) {
      let rest = try await fixture.reader(after: items[index].position).all().items.map(\.words)
      // The documents of the same commit may come again.
      expect(rest.count >= 900 - index - 1 && rest.count < 900 - index + size)
      expectEqual(rest.suffix(900 - index - 1), items[(index + 1)...].map(\.words)[...])
    }
    #expect(try await fixture.reader(after: try #require(items.last).position).words() == [])
  }

  @Test func `a reader that does not keep up loses old values, and nothing else`() async throws {
    let fixture = try FeedFixture()
    let reader = try fixture.reader()
    var expected: [String: Int] = [:]
    for round in 0..<300 {
      try fixture.write { tx in
        for n in 0..<20 {
          let id = (round * 7 + n) % 500
          expected["\(id)"] = round
          try tx.upsert(["n": .int(Int64(round))], id: DocumentID("\(id)"), into: "cars")
        }
      }
    }
    let items = try await reader.all().items
    #expect(items.count == expected.count)
    var found: [String: Int] = [:]
    for case .change(let change) in items.map(\.event) {
      expect(change.isResumed && change.oldValue == .unknown)
      guard case .string(let id) = change.id.value, case .fields(let fields) = change.newValue,
        case .int(let round)? = fields["n"]
      else { continue }
      found[id] = Int(round)
    }
    #expect(found == expected)
    try fixture.put("1", ["n": .int(-1)])
    #expect(try await reader.words().first?.hasSuffix("log") == false)
  }

  @Test func `one transaction with very many documents goes by the log`() async throws {
    let fixture = try FeedFixture()
    let reader = try fixture.reader()
    try fixture.write { tx in
      for n in 0..<5_000 { try tx.upsert(["n": .int(Int64(n))], id: DocumentID("\(n)"), into: "cars") }
    }
    let words = try await reader.words()
    #expect(words.count == 5_000)
    #expect(Set(words).count == 5_000)
    #expect(words.allSatisfy { $0.hasSuffix("log") })
  }

  // MARK: - Where the log does not help

  @Test func `a position beyond the log says that all has to be read anew, and the feed goes on`()
    async throws
  {
    let fixture = try FeedFixture()
    let start = FeedPosition.beginning(of: fixture.store)
    try fixture.put("a", ["n": .int(1)])
    let position = try fixture.now()
    for _ in 0..<9 {
      fixture.advance(days: 1)
      try fixture.put("b", ["n": .int(1)])
      try fixture.put("b", ["n": .int(2)])
    }
    try fixture.store.collect()
    for place in [start, position] {
      let reader = try fixture.reader(after: place)
      let batch = try await reader.all()
      expectEqual(batch.items.map(\.words), ["requery truncated"])
      try expectEqual(batch.position, fixture.now())
      try fixture.put("c", ["n": .int(Int64.random(in: 0..<1_000_000))])
      try await expectEqual(reader.words().count, 1)
    }
  }

  @Test func `a position of another store, or of a copy, is told apart`() async throws {
    let fixture = try FeedFixture()
    try fixture.put("a", ["n": .int(1)])
    let other = try FeedFixture(seed: 2)
    try other.put("a", ["n": .int(1)])
    #expect(try await fixture.reader(after: other.now()).words() == ["requery otherLog"])
    let position = try fixture.now()
    try fixture.store.backup(to: fixture.directory.file("backup"))
    try fixture.put("b", ["n": .int(1)])
    let copy = try FeedFixture(seed: 3, at: "backup", in: fixture.directory)
    #expect(try await copy.reader(after: position).words() == ["requery otherLog"])
    #expect(try await fixture.reader(after: position).words() == ["+b n=1 <- ? log"])
    // The commit's id is looked at, too.
    let token = try fixture.now().token
    let forged = try FeedPosition(token: String(token.dropLast(2)) + (token.hasSuffix("AA") ? "BB" : "AA"))
    #expect(try await fixture.reader(after: forged).words() == ["requery otherLog"])
  }

  @Test func `more evictions in one transaction than the log lists make a gap`() async throws {
    let fixture = try FeedFixture()
    try fixture.write { tx in
      for n in 0..<4_200 { try tx.upsert([:], id: DocumentID("\(n)"), into: "cars") }
    }
    let position = try fixture.now()
    try fixture.write { tx in
      for n in 0..<4_200 { _ = try tx.evict(DocumentID("\(n)"), in: "cars") }
    }
    try fixture.put("a", ["n": .int(1)])
    let words = try await fixture.reader(after: position).words()
    #expect(words.count == 4_098)
    #expect(words.suffix(2) == ["requery evictions", "+a n=1 <- ? log"])
  }

  @Test func `a document that cannot be read is told of`() async throws {
    let directory = try TemporaryDirectory()
    var position: FeedPosition?
    do {
      let fixture = try FeedFixture(in: directory)
      position = try fixture.now()
      try fixture.put("a", ["text": .string("a text that will be damaged")])
      try fixture.put("b", ["n": .int(1)])
    }
    let path = directory.file("db") + "/data.mdb"
    var data = try Data(contentsOf: URL(fileURLWithPath: path))
    while let range = data.range(of: Data("will be damaged".utf8)) {
      data.replaceSubrange(range, with: Data("will be dam\u{7}ged".utf8))
    }
    try data.write(to: URL(fileURLWithPath: path))
    let fixture = try FeedFixture(in: directory)
    #expect(
      try await fixture.reader(after: position).words().sorted() == ["+b n=1 <- ? log", "damaged cars id"])
  }

  // MARK: - Forms

  @Test func `a position is a text of 28 characters, and nothing else is one`() throws {
    let fixture = try FeedFixture()
    try fixture.put("a", [:])
    let position = try fixture.now()
    #expect(position.token.count == 28)
    #expect(position.token.allSatisfy { $0.isLetter || $0.isNumber || $0 == "-" || $0 == "_" })
    #expect(try FeedPosition(token: position.token) == position)
    for text in ["", "a", "1", String(repeating: "A", count: 28), String(repeating: "é", count: 14)] {
      let error = #expect(throws: FeedError.self) { try FeedPosition(token: text) }
      expectEqual(error?.code, .argument)
    }
  }

  @Test func `an event is JSON in the form of change data capture`() async throws {
    let fixture = try FeedFixture()
    let reader = try fixture.reader()
    let start = try fixture.now()
    try fixture.put("a", ["n": .int(1)])
    let first = try fixture.now().token
    try fixture.put("a", ["n": .int(2)])
    let second = try fixture.now().token
    let items = try await reader.all().items
    #expect(
      items.map { String(decoding: $0.event.json(), as: UTF8.self) } == [
        #"{"change":{"method":"upsert","newValue":{"_id":"a","n":1},"oldValue":null},"collection":"cars","documentId":"a","isResumed":false,"txnId":"\#(first)","type":"documentChanged"}"#,
        #"{"change":{"method":"update","newValue":{"_id":"a","n":2},"oldValue":{"_id":"a","n":1}},"collection":"cars","documentId":"a","isResumed":false,"txnId":"\#(second)","type":"documentChanged"}"#,
      ])
    let resumed = try await fixture.reader(after: start).all().items
    #expect(
      resumed.map { String(decoding: $0.event.json(), as: UTF8.self) } == [
        #"{"change":{"method":"upsert","newValue":{"_id":"a","n":2}},"collection":"cars","documentId":"a","isResumed":true,"txnId":"\#(second)","type":"documentChanged"}"#
      ])
    let other = try FeedFixture(seed: 9)
    let gap = try await fixture.reader(after: other.now()).all().items
    #expect(
      gap.map { String(decoding: $0.event.json(), as: UTF8.self) } == [
        #"{"reason":"otherLog","txnId":"\#(second)","type":"requeryRequired"}"#
      ])
  }

  @Test func `a feed takes queries that a subscription takes, and not too many`() throws {
    func code(_ statements: [String]) -> String? {
      switch #expect(throws: (any Error).self, performing: { try FeedFilter(dql: statements) }) {
      case let error as FeedError: error.code.rawValue
      case let error as QueryError: error.code.rawValue
      default: nil
      }
    }
    #expect(code([]) == "argument")
    #expect(code(Array(repeating: "SELECT * FROM cars", count: 17)) == "limit")
    #expect(code(["SELECT n FROM cars"]) == "unsupported")
    #expect(code(["SELECT * FROM cars ORDER BY n LIMIT 1"]) == "unsupported")
    #expect(code(["SELECT * FROM cars WHERE n = :n"]) == "argument")
    #expect(code(["DELETE FROM cars"]) == "unsupported")
    #expect(code(["nonsense"]) == "syntax")
  }

  // MARK: - Against a model

  /// A client keeps a copy of the matching documents from the events alone.
  ///
  /// It forgets what it has not acknowledged, and begins again from any position that it was given.
  @Test(arguments: 1...12) func `a copy that is kept by the feed is what the query finds`(_ seed: UInt64)
    async throws
  {
    var random = SeededGenerator(seed: seed)
    let fixture = try FeedFixture(seed: seed)
    let query = "SELECT * FROM cars WHERE n < 6"
    var reader = try fixture.reader(query)
    var acknowledged = (copy: [String: Int64](), position: reader.position)
    for _ in 0..<60 {
      for _ in 0..<random.int(below: 8) { try step(&random, fixture.store) }
      if random.oneIn(9) {
        try fixture.write { tx in
          for n in 0..<(random.oneIn(3) ? 5_000 : 700) {
            try tx.upsert(["n": .int(Int64(random.int(below: 10)))], id: DocumentID("x\(n)"), into: "cars")
          }
        }
      }
      var copy = acknowledged.copy
      let isInterrupted = random.oneIn(4)
      var left = random.int(below: 900)
      reading: while let batch = try await reader.next(waiting: .zero) {
        for item in batch.items {
          try apply(item.event, to: &copy)
          left -= 1
          acknowledged = (copy, item.position)
          if isInterrupted, left < 0 { break reading }
        }
        acknowledged = (copy, batch.position)
        guard !batch.items.isEmpty else { break }
      }
      if isInterrupted || random.oneIn(4) {
        reader = try fixture.reader(query, after: FeedPosition(token: acknowledged.position.token))
      } else {
        try expectEqual(copy, Self.matching(fixture.store))
      }
    }
    var copy = acknowledged.copy
    for item in try await reader.all().items { try apply(item.event, to: &copy) }
    #expect(try copy == Self.matching(fixture.store))
  }

  private func step(_ random: inout SeededGenerator, _ store: Store) throws {
    try store.write { tx in
      // A transaction writes a document or removes it, and not both.
      var isWritten: [Int: Bool] = [:]
      for _ in 0..<(1 + random.int(below: 4)) {
        let number = random.int(below: 12)
        let id = try DocumentID("\(number)")
        if random.oneIn(3) { try tx.beginGroup() }
        switch random.int(below: 6) {
        case 0 where isWritten[number] == nil:
          _ = try tx.remove(id, in: "cars")
          isWritten[number] = false
        case 1:
          _ = try tx.evict(id, in: "cars")
        default:
          guard isWritten[number] != false else { continue }
          try tx.upsert(["n": .int(Int64(random.int(below: 10)))], id: id, into: "cars")
          isWritten[number] = true
        }
      }
    }
  }

  private func apply(_ event: FeedEvent, to copy: inout [String: Int64]) throws {
    guard case .change(let change) = event else {
      Issue.record("\(event)")
      return
    }
    guard case .string(let id) = change.id.value else { return }
    if case .fields(let old) = change.oldValue, case .int(let n)? = old["n"] {
      expectEqual(copy[id], n)
    }
    if case .fields(let fields) = change.newValue, case .int(let n)? = fields["n"] {
      copy[id] = n
    } else {
      copy[id] = nil
    }
  }

  private static func matching(_ store: Store) throws -> [String: Int64] {
    try store.read { tx in
      var found: [String: Int64] = [:]
      guard let cars = try tx.collection("cars") else { return found }
      try tx.forEachRecord(in: cars) { id, _, record in
        guard record.isAlive, case .int(let n)? = try record.fields(cars.keys)["n"], n < 6,
          case .string(let text) = try DocumentID(validating: id).value
        else { return true }
        found[text] = n
        return true
      }
      return found
    }
  }
}

extension FeedFixture {
  func now() throws -> FeedPosition { try FeedPosition.now(store) }
}
