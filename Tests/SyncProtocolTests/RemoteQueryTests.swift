import CRDTCore
import DocStore
import QueryEngine
import ScopePolicy
import SyncProtocol
import TestKit
import Testing

/// Statements that one peer runs for another.
@Suite struct RemoteQueryTests {
  let network = TestNetwork()

  /// An asker and a peer with documents, connected.
  private func pair(
    documents: Int = 0, answers: Bool = true
  ) throws -> (asker: Endpoint, answering: Endpoint) {
    let configure = network.configure
    network.configure = {
      configure(&$0)
      $0.answersRemoteQueries = answers
    }
    let asker = try network.addPeer("asker")
    let answering = try network.addPeer("answering")
    if documents > 0 {
      try answering.write { transaction in
        for index in 0..<documents {
          try transaction.upsert(
            ["n": .int(Int64(index)), "text": .string(String(repeating: "x", count: 90))],
            id: DocumentID("d\(index)"), into: "things")
        }
      }
    }
    let ends = try network.connect(asker, answering)
    try network.settle()
    return ends
  }

  private func ask(
    _ asker: Endpoint, _ text: String, _ arguments: [TextKey: Value] = [:],
    limits: RemoteQueryLimits = RemoteQueryLimits(), number: UInt64 = 1
  ) throws {
    let question = try QueryQuestion(text, arguments: arguments, limits: limits)
    try asker.perform(asker.session.ask(number, question, now: network.now))
  }

  @Test func `rows come with their documents' ids, and the end tells how many`() throws {
    let (asker, _) = try pair(documents: 3_000)
    try ask(asker, "SELECT * FROM things WHERE n >= :n", ["n": .int(1_000)])
    try network.settle()
    let answer = try #require(asker.answers[1])
    #expect(answer.end?.error == nil && answer.end?.rows == 2_000)
    #expect(Set(answer.rows.compactMap(\.id)).count == 2_000)
    #expect(answer.rows.allSatisfy { if case .int(1_000...)? = $0.values["n"] { true } else { false } })
    // Nothing of it is stored.
    #expect(try asker.peer.documents().isEmpty)
    try ask(asker, "SELECT COUNT(*) AS c FROM things", number: 2)
    try ask(asker, "SELECT n FROM things ORDER BY n DESC LIMIT 2 OFFSET 1", number: 3)
    try ask(asker, "SELECT n % 2 AS k, COUNT(*) AS c FROM things GROUP BY n % 2 ORDER BY k", number: 4)
    try ask(asker, "SELECT n FROM things LIMIT 3 OFFSET 2990", number: 5)
    try network.settle()
    #expect(asker.answers[2]?.rows.map(\.values) == [["c": .int(3_000)]])
    #expect(asker.answers[3]?.rows.map { $0.values["n"] } == [.int(2_998), .int(2_997)])
    #expect(asker.answers[4]?.rows.map { $0.values["c"] } == [.int(1_500), .int(1_500)])
    #expect(asker.answers[5]?.rows.count == 3)
    try ask(asker, "EXPLAIN SELECT * FROM things WHERE n = 1", number: 6)
    try ask(asker, "SELECT * FROM nothing", number: 7)
    try network.settle()
    #expect(asker.answers[6]?.rows.first?.values["plan"] != nil)
    #expect(asker.answers[7]?.rows.isEmpty == true && asker.answers[7]?.end?.error == nil)
  }

  /// A frame has at most 128 KiB, whatever a link takes at once.
  @Test(arguments: [false, true]) func `a row that is longer than a frame comes in pieces`(isLocal: Bool)
    throws
  {
    let configure = network.configure
    network.configure = {
      configure(&$0)
      $0.isLocal = isLocal
      $0.initialWindowBytes = 4 << 20
    }
    let (asker, answering) = try pair()
    let text = Value.string(String(repeating: "x", count: 700_000))
    try answering.peer.put("a", ["text": text])
    try ask(asker, "SELECT * FROM things")
    try network.settle()
    #expect(asker.closed == nil && answering.closed == nil)
    #expect(asker.answers[1]?.end?.error == nil)
    #expect(asker.answers[1]?.rows.map { $0.values["text"] } == [text])
  }

  @Test(arguments: [
    ("UPDATE things SET n = 1", "unsupported"), ("DELETE FROM things", "unsupported"),
    ("INSERT INTO things DOCUMENTS ({'n': 1})", "unsupported"), ("EVICT FROM things", "unsupported"),
    ("EXPLAIN DELETE FROM things", "unsupported"), ("PROFILE SELECT * FROM things", "unsupported"),
    ("ALTER SYSTEM SET DQL_RESTRICT_SUBSCRIPTIONS = false", "unsupported"),
    ("SHOW DQL_RESTRICT_SUBSCRIPTIONS", "unsupported"),
    ("CREATE INDEX i ON things (n)", "unsupported"), ("SELECT * FROM system:indexes", "unsupported"),
    ("SELECT * FROM __presence", "unsupported"),
    ("SELECT * FROM things WHERE _id IN (SELECT _id FROM system:collections)", "unsupported"),
    ("EXPLAIN SELECT * FROM system:indexes", "unsupported"), ("SELECT FROM", "syntax"),
    ("SELECT * FROM things WHERE n = :n", "argument"), ("SELECT nosuch(n) FROM things", "unknownFunction"),
  ])
  func `what is no query of documents is refused and changes nothing`(text: String, code: String) throws {
    let (asker, answering) = try pair(documents: 5)
    let before = try answering.peer.documents()
    try ask(asker, text)
    try network.settle()
    #expect(asker.answers[1]?.end?.error?.code.rawValue == code, "\(text)")
    #expect(asker.answers[1]?.rows.isEmpty == true)
    #expect(try answering.peer.documents() == before)
    #expect(asker.closed == nil && answering.closed == nil)
  }

  @Test func `the lesser limits count, and what came within them is kept`() throws {
    let (asker, _) = try pair(documents: 500)
    try ask(asker, "SELECT * FROM things", limits: RemoteQueryLimits(rows: 20))
    try ask(asker, "SELECT * FROM things", limits: RemoteQueryLimits(bytes: 5_000), number: 2)
    try ask(asker, "SELECT * FROM things", limits: RemoteQueryLimits(time: .zero), number: 3)
    try network.settle()
    #expect(asker.answers[1]?.end?.error?.code == .limit && asker.answers[1]?.rows.count == 20)
    #expect(asker.answers[2]?.end?.error?.code == .limit)
    #expect((20...60).contains(asker.answers[2]?.rows.count ?? 0))
    #expect(asker.answers[3]?.end?.error?.code == .timeout)
  }

  @Test func `a statement that takes longer than its limit ends, and what came by then is kept`() throws {
    let (asker, answering) = try pair(documents: 3_000)
    // A millisecond goes by from one look at the clock to the next: of 256 rows, or so.
    answering.queryPace = .milliseconds(1)
    try ask(asker, "SELECT * FROM things", limits: RemoteQueryLimits(time: .milliseconds(5)))
    try network.settle()
    let cut = try #require(asker.answers[1])
    #expect(cut.end?.error?.code == .timeout)
    #expect(cut.end.map { $0.time >= .milliseconds(5) } == true)
    #expect(cut.rows.count < 3_000)
    try ask(asker, "SELECT * FROM things", limits: RemoteQueryLimits(time: .seconds(1)), number: 2)
    try network.settle()
    #expect(asker.answers[2]?.rows.count == 3_000 && asker.answers[2]?.end?.error == nil)
    #expect(asker.closed == nil && answering.closed == nil)
  }

  @Test func `just as many rows and bytes as the limits allow come, and with one less not all`() throws {
    let (asker, _) = try pair(documents: 20)
    try ask(asker, "SELECT * FROM things")
    try network.settle()
    let bytes = try #require(asker.answers[1]).rows.reduce(0) { $0 + $1.byteCount }
    for (number, limits, rows) in [
      (2, RemoteQueryLimits(rows: 20), 20), (3, RemoteQueryLimits(rows: 19), 19),
      (4, RemoteQueryLimits(bytes: bytes), 20), (5, RemoteQueryLimits(bytes: bytes - 1), 19),
    ] as [(UInt64, RemoteQueryLimits, Int)] {
      try ask(asker, "SELECT * FROM things", limits: limits, number: number)
      try network.settle()
      let answer = try #require(asker.answers[number])
      expect(answer.rows.count == rows && answer.end?.rows == rows, "\(limits)")
      expectEqual(answer.end?.error?.code, rows == 20 ? nil : .limit, "\(limits)")
    }
  }

  @Test func `a store that is closed is told as such, and no more of it`() throws {
    let (asker, answering) = try pair(documents: 5)
    answering.holdsJobs = true
    try ask(asker, "SELECT * FROM things")
    try network.settle()
    answering.peer.store.close()
    answering.holdsJobs = false
    try network.settle()
    let error = try #require(asker.answers[1]?.end?.error)
    #expect(error == RemoteQueryError(.closed, "the peer's database was closed"))
    #expect(error.code.rawValue == "closed")
  }

  @Test func `a session that is closed ends the statements that run for its peer`() throws {
    let (asker, answering) = try pair(documents: 5)
    answering.holdsJobs = true
    try ask(asker, "SELECT * FROM things")
    try network.settle()
    let job = try #require(answering.jobs.first)
    try answering.perform(answering.session.close(now: network.now))
    let engine = Engine(
      store: answering.peer.store, parameters: SystemParameters(),
      environment: EngineEnvironment(now: { 0 }))
    var pieces = 0
    job.run(on: engine) { _ in pieces += 1 }
    #expect(pieces == 1, "only the end, and no rows")
  }

  @Test func `a statement before the peers have met ends with closed`() throws {
    let raw = try RawPeer()
    raw.start()
    raw.perform(raw.session.ask(1, try QueryQuestion("SELECT * FROM things"), now: raw.now))
    #expect(raw.rowsEnd?.error?.code == .closed)
  }

  @Test func `the limits of the peer that answers count too`() throws {
    network.configure = { $0.remoteQueryLimits = RemoteQueryLimits(rows: 7) }
    let (asker, _) = try pair(documents: 50)
    try ask(asker, "SELECT * FROM things")
    try network.settle()
    #expect(asker.answers[1]?.end?.error?.code == .limit && asker.answers[1]?.rows.count == 7)
  }

  @Test func `a reader that takes nothing is sent little, and the rest when it takes`() throws {
    let (asker, answering) = try pair(documents: 5_000)
    asker.takesRows = false
    try ask(asker, "SELECT * FROM things")
    try network.settle()
    let sent = answering.sentBytes
    #expect(sent < 200 << 10)
    // Changes do not wait for the reader.
    try asker.peer.subscribe("SELECT * FROM others")
    try answering.peer.put("o", ["n": .int(1)], in: "others")
    try network.settle()
    #expect(try asker.peer.document("o", in: "others") != nil)
    asker.takesRows = true
    try asker.takeRows()
    try network.settle()
    #expect(asker.answers[1]?.rows.count == 5_000 && asker.answers[1]?.end?.error == nil)
  }

  @Test func `a row longer than what may be on its way arrives`() throws {
    let (asker, answering) = try pair()
    let text = String(repeating: "0123456789", count: 200_000)
    try answering.peer.put("long", ["text": .string(text)])
    try ask(asker, "SELECT * FROM things")
    try network.settle()
    #expect(asker.answers[1]?.rows.first?.values["text"] == .string(text))
  }

  @Test func `who stops gets no more, and the peer has room for others`() throws {
    let (asker, answering) = try pair(documents: 5_000)
    asker.takesRows = false
    for number in 1...4 { try ask(asker, "SELECT * FROM things", number: UInt64(number)) }
    try network.settle()
    try ask(asker, "SELECT * FROM things", number: 5)
    try network.settle()
    #expect(asker.answers[5]?.end?.error?.code == .limit)
    for number in 1...4 { try asker.perform(asker.session.stopAsking(UInt64(number), now: network.now)) }
    try network.settle()
    asker.takesRows = true
    try ask(asker, "SELECT * FROM things", number: 6)
    try network.settle()
    #expect(asker.answers[6]?.rows.count == 5_000)
    #expect((1...4).allSatisfy { asker.answers[$0]?.end == nil })
    #expect(answering.closed == nil)
  }

  @Test func `a peer that was not told to answer says so`() throws {
    #expect(!SessionConfiguration(kind: .small, peerName: "", appID: "").answersRemoteQueries)
    let (asker, answering) = try pair(documents: 5, answers: false)
    try ask(asker, "SELECT * FROM things")
    try network.settle()
    #expect(asker.answers[1]?.end?.error?.code == .denied)
    #expect(answering.jobCount == 0)
  }

  @Test func `scopes do not restrict what a query reads`() throws {
    let (asker, answering) = try pair(documents: 5)
    try answering.peer.scopes.set(.map(["things": .string("LocalPeerOnly")]))
    try asker.peer.subscribe("SELECT * FROM things")
    try ask(asker, "SELECT * FROM things")
    try network.settle()
    #expect(asker.answers[1]?.rows.count == 5)
    #expect(try asker.peer.documents().isEmpty)
  }

  @Test func `a peer that is silent about a statement is given up on`() throws {
    let (asker, answering) = try pair(documents: 5)
    answering.holdsJobs = true
    try ask(asker, "SELECT * FROM things", limits: RemoteQueryLimits(time: .seconds(2)))
    try network.settle()
    #expect(asker.answers[1]?.end == nil)
    try network.wait(.seconds(13))
    #expect(asker.answers[1]?.end?.error?.code == .timeout)
    try network.settle()
    answering.holdsJobs = false
    try network.settle()
    #expect(asker.closed == nil && answering.closed == nil)
  }

  @Test func `an answer that nobody reads ends when its time is over, however often the asker pings`() throws
  {
    let (asker, answering) = try pair(documents: 5_000)
    asker.takesRows = false
    let limits = RemoteQueryLimits(time: .seconds(60))
    for number in 1...4 { try ask(asker, "SELECT * FROM things", limits: limits, number: UInt64(number)) }
    try network.settle()
    try ask(asker, "SELECT * FROM things", number: 5)
    try network.settle()
    #expect(asker.answers[5]?.end?.error?.code == .limit)
    // Longer than the answering peer's own limit, and shorter than the asker's.
    for _ in 0..<21 {
      try network.wait(.seconds(2))
      try network.settle()
    }
    for number in 1...4 {
      expectEqual(asker.answers[UInt64(number)]?.end?.error?.code, .timeout)
    }
    // There is room for others then.
    asker.takesRows = true
    try ask(asker, "SELECT * FROM things", number: 6)
    try network.settle()
    #expect(asker.answers[6]?.rows.count == 5_000)
    #expect(asker.closed == nil && answering.closed == nil)
  }

  @Test func `answers that nobody reads take so much in memory, and little of it when others ask too`() throws
  {
    let (asker, answering) = try pair()
    try answering.peer.write { transaction in
      for index in 0..<50 {
        let text = Value.string(String(repeating: "x", count: 200_000))
        try transaction.upsert(["text": text], id: DocumentID("d\(index)"), into: "things")
      }
    }
    let memory = answering.peer.shared
    asker.takesRows = false
    try ask(asker, "SELECT * FROM things")
    try network.settle()
    let one = memory.answerBytes
    #expect(one > 9 << 20 && one <= SyncLimits.unreadAnswerBytes)
    try ask(asker, "SELECT * FROM things", number: 2)
    try network.settle()
    #expect(asker.answers[2]?.end?.error?.code == .limit)
    #expect(memory.answerBytes == one)
    // Another peer has half of it in any case, and no more while the first one holds the rest.
    let other = try network.connect(try network.addPeer("other"), answering.peer).0
    other.takesRows = false
    try network.settle()
    try ask(other, "SELECT * FROM things LIMIT 35")
    try ask(other, "SELECT * FROM things LIMIT 30", number: 2)
    try network.settle()
    #expect(other.answers[1]?.end == nil && other.answers[2]?.end?.error?.code == .limit)
    #expect(memory.answerBytes <= SyncLimits.unreadAnswerBytes * 3 / 2)
    asker.takesRows = true
    try asker.takeRows()
    try network.settle()
    #expect(asker.answers[1]?.rows.count == 50)
    #expect(memory.answerBytes < 8 << 20)
    network.cut(other)
    answering.peer.endpoints.forEach { network.cut($0) }
    #expect(memory.answerBytes == 0)
  }

  @Test func `messages read back, and shortened ones are refused`() throws {
    let question = try QueryQuestion(
      "SELECT * FROM c WHERE a = :a", arguments: ["a": .int(1), "b": .string("x")],
      limits: RemoteQueryLimits(time: .milliseconds(1_500), rows: 10, bytes: 1_000))
    let end = QueryEnd(
      error: RemoteQueryError(.limit, "too much"), rows: 10, time: .milliseconds(12))
    var writer = ByteWriter()
    question.encode(to: &writer)
    let questionBytes = writer.bytes
    writer = ByteWriter()
    end.encode(to: &writer)
    let endBytes = writer.bytes
    var reader = ByteReader(questionBytes.span.bytes)
    #expect(try QueryQuestion(from: &reader) == question)
    reader = ByteReader(endBytes.span.bytes)
    #expect(try QueryEnd(from: &reader) == end)
    for count in questionBytes.indices {
      let part = Array(questionBytes[..<count])
      #expect(throws: CodecError.self) {
        var reader = ByteReader(part.span.bytes)
        _ = try QueryQuestion(from: &reader)
      }
    }
    for count in endBytes.indices {
      let part = Array(endBytes[..<count])
      #expect(throws: CodecError.self) {
        var reader = ByteReader(part.span.bytes)
        _ = try QueryEnd(from: &reader)
      }
    }
  }

  @Test func `too long a statement is refused before it is sent`() {
    #expect(throws: RemoteQueryError.self) { try QueryQuestion(String(repeating: "x", count: 17 << 10)) }
    #expect(throws: RemoteQueryError.self) {
      try QueryQuestion("SELECT :a", arguments: ["a": .bytes(Array(repeating: 0, count: 65 << 10))])
    }
  }

  @Test(
    arguments: [
      [1, 3, 1, 0xFF, 0xFF], [1, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
      [1, 2, 0, 3],
    ] as [[UInt8]])
  func `rows that are none end the session`(payload: [UInt8]) throws {
    let (asker, answering) = try pair()
    answering.holdsJobs = true
    try ask(asker, "SELECT * FROM things")
    try network.settle()
    try asker.receive(.rows) { $0.write(payload) }
    #expect([.malformed, .truncated].contains(asker.closed?.code))
  }

  @Test func `more rows than were asked for end the answer and not the session`() throws {
    let (asker, answering) = try pair()
    answering.holdsJobs = true
    try ask(asker, "SELECT * FROM things", limits: RemoteQueryLimits(rows: 2))
    try network.settle()
    var row = ByteWriter()
    row.writeBlob([])
    ValueCodec.write(.map(["n": .int(1)]), to: &row)
    try asker.receive(.rows) { out in
      out.writeVarint(1)
      for _ in 0..<3 { out.writeBlob(row.bytes) }
    }
    #expect(asker.answers[1]?.end?.error?.code == .limit)
    #expect(asker.closed == nil)
  }
}
