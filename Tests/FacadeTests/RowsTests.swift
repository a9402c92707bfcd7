import DunlinKit
import Synchronization
import TestKit
import Testing

/// Results of any size are read row by row, no further ahead than they are taken.
@Suite(.timeLimit(.minutes(15))) struct RowsTests {
  private let peer: Peer
  private static let count = 3_000
  /// What the reader may be ahead of its taker: a full buffer, as many taken at once, and the row that waits.
  private static let ahead = 2 * 256 + 1

  private struct Part: Codable, Sendable, Equatable {
    let _id: Int
    let name: String
  }

  init() throws {
    peer = try Peer()
    try Self.fill(peer)
  }

  private static func fill(_ peer: Peer) throws {
    try peer.store.write { tx in
      for id in 0..<count { try tx["parts"].upsert(Part(_id: id, name: "part \(id)")) }
    }
  }

  /// Statements that read parts now.
  private func readers() async throws -> Int {
    let active = try await peer.store.execute(query: "SELECT statement FROM system:active_requests")
    return active.items.filter { $0["statement"].stringValue.contains("FROM parts") }.count
  }

  private func waitForNoReaders() async throws {
    while try await readers() > 0 { await pause() }
  }

  @Test func `every row comes once, as items and as a type`() async throws {
    var ids: Set<Int> = []
    for try await row in try peer.store.rows(of: "SELECT * FROM parts") { ids.insert(row["_id"].intValue) }
    #expect(ids.count == Self.count)
    struct Least: Encodable { var least: Int }
    var parts: [Part] = []
    let query = "SELECT * FROM parts WHERE _id >= :least"
    for try await part in try peer.store.rows(of: query, arguments: Least(least: 10), as: Part.self) {
      parts.append(part)
    }
    #expect(parts.count == Self.count - 10 && parts.allSatisfy { $0.name == "part \($0._id)" })
    var few = 0
    for try await _ in try peer.store.rows(of: "SELECT * FROM parts LIMIT :n", arguments: ["n": 7]) {
      few += 1
    }
    #expect(few == 7)
    try await waitForNoReaders()
  }

  @Test func `rows of queries that have to be gathered come in their order`() async throws {
    var ids: [Int] = []
    for try await row in try peer.store.rows(of: "SELECT _id FROM parts ORDER BY _id DESC LIMIT 1000") {
      ids.append(row["_id"].intValue)
    }
    #expect(ids == Array((Self.count - 1_000..<Self.count).reversed()))
    var counts: [Int] = []
    for try await row in try peer.store.rows(of: "SELECT COUNT(*) AS n FROM parts") {
      counts.append(row["n"].intValue)
    }
    #expect(counts == [Self.count])
  }

  /// Counts what was decoded.
  private struct CountedPart: Decodable, Sendable {
    static let made = Atomic(0)

    init(from decoder: any Decoder) throws { Self.made.add(1, ordering: .relaxed) }
  }

  @Test func `the reader is never further ahead than its buffer`() async throws {
    var taken = 0
    for try await _ in try peer.store.rows(of: "SELECT * FROM parts", as: CountedPart.self) {
      taken += 1
      let ahead = CountedPart.made.load(ordering: .relaxed) - taken
      guard ahead > Self.ahead else { continue }
      Issue.record("\(ahead) rows in memory")
      break
    }
    #expect(taken == Self.count && CountedPart.made.load(ordering: .relaxed) == Self.count)
  }

  @Test func `large rows are bounded by their bytes`() async throws {
    let text = String(repeating: "x", count: 100_000)
    try await peer.store.write { tx in
      for id in 0..<30 { _ = try tx["large"].upsert(["_id": id, "text": text]) }
    }
    var taken = 0
    for try await _ in try peer.store.rows(of: "SELECT * FROM large", as: LargePart.self) {
      taken += 1
      expect(LargePart.made.load(ordering: .relaxed) - taken <= 2 * 2 + 1)
    }
    #expect(taken == 30)
  }

  private struct LargePart: Decodable, Sendable {
    static let made = Atomic(0)

    init(from decoder: any Decoder) throws { Self.made.add(1, ordering: .relaxed) }
  }

  @Test func `a slow loop keeps the reader waiting on its snapshot, and a break ends it`() async throws {
    var rows = try peer.store.rows(of: "SELECT * FROM parts").makeAsyncIterator()
    #expect(try await readers() == 0)
    #expect(try await rows.next() != nil)
    #expect(try await readers() == 1)
    try await peer.store["parts"].upsert(["_id": -1])
    try await peer.store["parts"].findByID(DunlinDocumentID(value: Self.count - 1)).remove()
    var rest = 1
    while try await rows.next() != nil { rest += 1 }
    #expect(rest == Self.count)
    #expect(try await rows.next() == nil)
    for try await _ in try peer.store.rows(of: "SELECT * FROM parts") { break }
    try await waitForNoReaders()
  }

  @Test func `a task that is cancelled ends its reading`() async throws {
    let store = peer.store
    let (started, start) = AsyncStream.makeStream(of: Void.self)
    let task = Task {
      var count = 0
      for try await _ in try store.rows(of: "SELECT * FROM parts") {
        count += 1
        if count == 1 { start.yield() }
        if count == 2 { while !Task.isCancelled { await pause() } }
      }
    }
    for await _ in started { break }
    task.cancel()
    let error = await #expect(throws: DunlinError.self) { try await task.value }
    #expect(error?.code == .cancelled)
    try await waitForNoReaders()
  }

  @Test func `a snapshot that is too old ends with its deadline`() async throws {
    let peer = try Peer(snapshotDeadline: .zero)
    try Self.fill(peer)
    var rows = try peer.store.rows(of: "SELECT * FROM parts").makeAsyncIterator()
    var sorted = try peer.store.rows(of: "SELECT * FROM parts ORDER BY name").makeAsyncIterator()
    #expect(try await rows.next() != nil)
    #expect(try await sorted.next() != nil)
    for value in 0..<3 { try await peer.store["other"].upsert(["_id": value]) }
    var taken = 1
    let error = await #expect(throws: DunlinError.self) {
      while try await rows.next() != nil { taken += 1 }
    }
    #expect(error?.code == .deadline)
    #expect(taken <= Self.ahead)
    #expect(try await rows.next() == nil)
    var gathered = 1
    while try await sorted.next() != nil { gathered += 1 }
    #expect(gathered == Self.count)
  }

  @Test func `what is wrong is told before or with the first row`() async throws {
    #expect(throws: DunlinError.self) { try peer.store.rows(of: "SELECT FROM") }
    for statement in ["DELETE FROM parts", "SHOW ALL", "EVICT FROM parts"] {
      let error = #expect(throws: DunlinError.self) { try peer.store.rows(of: statement) }
      expectEqual(error?.code, .unsupported)
    }
    var rows = try peer.store.rows(of: "SELECT * FROM parts WHERE _id = :missing").makeAsyncIterator()
    let argument = await #expect(throws: DunlinError.self) { try await rows.next() }
    #expect(argument?.code == .argument)
    struct Other: Decodable, Sendable { var name: Int }
    var typed = try peer.store.rows(of: "SELECT name FROM parts", as: Other.self).makeAsyncIterator()
    let decoding = await #expect(throws: DunlinError.self) { try await typed.next() }
    #expect(decoding?.code == .decoding && decoding?.context["path"] == "name")
    #expect(decoding?.context["row"] == "0")
  }

  @Test func `as many are read at once as may be, and closing the database ends them`() async throws {
    var all: [DunlinRows<DunlinQueryResultItem>.AsyncIterator] = []
    for _ in 0..<64 {
      var rows = try peer.store.rows(of: "SELECT * FROM parts").makeAsyncIterator()
      _ = try await rows.next()
      all.append(rows)
    }
    var further = try peer.store.rows(of: "SELECT * FROM parts").makeAsyncIterator()
    let limit = await #expect(throws: DunlinError.self) { try await further.next() }
    #expect(limit?.code == .limit)
    try peer.dunlin.close()
    let closed = await #expect(throws: DunlinError.self) { while try await all[0].next() != nil {} }
    #expect(closed?.code == .closed)
    // Nobody holds the files any more.
    let again = try Dunlin(path: peer.directory.file("db"), identity: .unsafeDevelopment(appID: "tests"))
    #expect(try again.store["parts"].findAll().count() == Self.count)
  }
}
