import CRDTCore
import DocStore
import TestKit
import Testing

@testable import SyncProtocol

/// What a session, or all of a store, hold at most of what they were sent or asked for.
@Suite struct HeldLimitsTests {
  private static let pieceBytes = 1 << 20

  /// A peer that accepts nothing receives at most a window of plain bytes, however few wire bytes these take.
  @Test func `a sender leaves no more plain bytes unacknowledged than the window and a group`() throws {
    let raw = try RawPeer { $0.initialWindowBytes = SyncLimits.windowBytes.upperBound }
    defer { raw.peer.close() }
    for number in 0..<SyncLimits.plainWindowBytes / Self.pieceBytes + 8 {
      let text = String(repeating: "\(number % 10)", count: Self.pieceBytes)
      try raw.peer.put("d\(number)", ["text": .string(text)])
    }
    try raw.open(subscribing: "SELECT * FROM others")
    try raw.sendInterest("SELECT * FROM things")
    raw.compareThings()
    var plainBytes = 0
    for payload in raw.sent(.chunk) {
      let numbers = Array(payload.dropFirst())
      var reader = ByteReader(numbers.span.bytes)
      for _ in 0..<3 { _ = try reader.readVarint() }
      plainBytes += Int(try reader.readVarint())
    }
    #expect(raw.closed == nil, "\(raw.closed as Any)")
    #expect(plainBytes >= SyncLimits.plainWindowBytes, "\(plainBytes)")
    #expect(plainBytes < SyncLimits.plainWindowBytes + Self.pieceBytes + 1_000, "\(plainBytes)")
  }

  @Test func `questions wait while much is wanted, and are answered afterwards`() throws {
    let raw = try RawPeer()
    defer { raw.peer.close() }
    try raw.open(subscribing: "SELECT * FROM things")
    try raw.sendInterest("SELECT * FROM things")
    raw.receive(frames: Bound.questions(1))
    let each = 2_048 * 32
    let list = try Bound.wants(elements: each / 32 - 5)
    for _ in 1..<SyncLimits.wantedWhileAnswering / each { try raw.session.pusher.receive(list) }
    #expect(raw.session.pusher.server.mayAnswerQuestions)
    try raw.session.pusher.receive(list)
    #expect(!raw.session.pusher.server.mayAnswerQuestions)
    let answered = raw.sent(.answer).count
    raw.receive(frames: Bound.questions(1))
    #expect(raw.sent(.answer).count == answered + 1)
    #expect(raw.closed == nil, "\(raw.closed as Any)")
  }

  /// The wants for documents of one transaction are so large that not all documents may wait for each other.
  @Test(arguments: [-8, 8])
  func `what waits for the others of its transaction is bounded, and the rest goes out alone`(
    more: Int
  ) throws {
    let raw = try RawPeer()
    defer { raw.peer.close() }
    let each = 2_048 * 32
    let ids = try (0..<SyncLimits.gatheredBytes / each + more).map { try DocumentID("document-\($0)") }
    try raw.peer.write { transaction in
      for id in ids { try transaction.upsert(["n": .int(1)], id: id, into: "things") }
    }
    try raw.open(subscribing: "SELECT * FROM others")
    try raw.sendInterest("SELECT * FROM things")
    raw.send(.compare) { out in
      out.writeVarint(1)
      out.writeVarint(0)
    }
    var list = try Bound.wants(elements: each / 32 - 5)
    let want = try #require(list.wants.first)
    list.wants = ids.map { id in
      var want = want
      want.id = id
      return want
    }
    try raw.session.pusher.receive(list)
    raw.send(.asked) { $0.writeVarint(1) }
    raw.tick(after: SyncLimits.gatheringDelay)
    let told = raw.events.filter { if case .groupsForgotten = $0 { true } else { false } }
    #expect(told.isEmpty == (more < 0), "\(told)")
    #expect(raw.closed == nil, "\(raw.closed as Any)")
    #expect(!raw.sent(.chunk).isEmpty || !raw.sent(.fragment).isEmpty, "\(raw.frames.map(\.type))")
  }

  /// So many ranges that each record would be visited far more often than a reconciliation needs.
  @Test(arguments: [true, false])
  func `a reconciliation visits each record so often and no more`(isTooMuch: Bool) throws {
    let raw = try RawPeer()
    defer { raw.peer.close() }
    let documents = 200
    try raw.peer.write { transaction in
      for number in 0..<documents {
        try transaction.upsert(["n": .int(1)], id: try DocumentID("d\(number)"), into: "things")
      }
    }
    try raw.open(subscribing: "SELECT * FROM others")
    try raw.sendInterest("SELECT * FROM things")
    let most = (documents + SyncLimits.questions) * SyncLimits.visitsOfRecord / documents
    for number in 0..<(isTooMuch ? most + 3 : most - 3) where raw.closed == nil {
      // Each begins a little sooner before the first document, so that none is known from the one before.
      raw.send(.compare) { out in
        out.writeVarint(1)
        out.writeVarint(1)
        let range = KeyRange(collection: "things", from: [3, 1, UInt8(255 - number)])
        RangeQuestion.send(UInt64(number + 1), range, isSecret: true).encode(to: &out)
      }
    }
    #expect(raw.closed?.code == (isTooMuch ? .limit : nil), "\(raw.closed as Any)")
  }

  @Test func `a digest of a range holds so many documents, and so many bytes of ids`() throws {
    func digest(_ count: Int, idBytes: Int) -> RangeDigest {
      let digest = RangeDigest(KeyRange(collection: "things"))
      for number in 0..<count {
        var id = [UInt8](repeating: 97, count: idBytes)
        for place in 0..<4 { id[place] = UInt8(truncatingIfNeeded: number >> ((3 - place) * 8)) }
        digest.addMatch(
          id.span.bytes, hash: UInt64(number), number: DocumentNumber(UInt64(number + 1)))
      }
      return digest
    }
    let long = SyncLimits.digestIDBytes / Limits.documentIDBytes
    #expect(digest(long, idBytes: Limits.documentIDBytes).heldCount == long)
    #expect(digest(long + 1, idBytes: Limits.documentIDBytes).heldCount <= long / 2 + 1)
    #expect(digest(SyncLimits.digestDocuments, idBytes: 8).heldCount == SyncLimits.digestDocuments)
    let more = digest(SyncLimits.digestDocuments + 1, idBytes: 8)
    #expect(more.heldCount <= SyncLimits.digestDocuments / 2 + 1 && !more.isComplete)
    #expect(more.whole.count == UInt64(SyncLimits.digestDocuments + 1))
  }

  @Test func `sessions wait for so many announced changes together`() {
    let desk = PullScheduler()
    for session in [1, 2] as [UInt64] { desk.join(session, now: .zero) }
    #expect(desk.admit(SyncLimits.awaitedChanges - 1, of: 1))
    #expect(desk.admit(1, of: 2))
    #expect(!desk.admit(1, of: 1) && !desk.admit(1, of: 2))
    _ = desk.leave(2)
    #expect(desk.admit(1, of: 1))
    #expect(!desk.admit(1, of: 3), "one that has not joined")
  }

  @Test func `documents that cannot be merged are told apart up to a limit`() throws {
    var unreadable = Unreadable()
    for number in 0..<SyncLimits.reportableRecords + 5 {
      unreadable.insert(DocumentName(collection: "things", id: try DocumentID("d\(number)")))
    }
    #expect(unreadable.exceeding.count == SyncLimits.reportableRecords)
  }

  @Test func `of groups in parts that sessions have left the last ones are kept`() {
    let stage = SegmentStage()
    var names: [StagingID] = []
    for number in 0..<SyncLimits.leftTransactions + 3 {
      let name = stage.makeName(UInt64(number) << 32) { _ in false }
      names.append(name.id)
    }
    #expect(stage.removeLeft().map(\.id) == Array(names.suffix(SyncLimits.leftTransactions)))
    #expect(stage.removeLeft().isEmpty)
  }

  /// The beginning of a group of one document with so many bytes.
  private static func beginning(_ byteCount: Int, from number: UInt64) throws -> StagedTransfer {
    var out = ByteWriter()
    out.writeVarint(1)
    out.writeString("things")
    out.writeBlob(try DocumentID("large").bytes)
    out.write(0)
    out.writeVarint(SyncLimits.transactionBytes)
    out.write([UInt8](repeating: 7, count: byteCount - out.count))
    let site = SiteID(high: 1, low: number)
    return try #require(StagedTransfer(out.bytes, from: site, kept: nil, at: .zero))
  }

  @Test func `beginnings of large groups are kept in so many bytes of memory, the last of them first`() throws
  {
    let stage = TransferStage()
    let bytes = SyncLimits.stagedMemoryBytes / 3
    for number in 1...4 as ClosedRange<UInt64> {
      stage.keep(try Self.beginning(bytes, from: number))
      let kept = stage.transfers(at: .zero)
      expectEqual(
        kept.map(\.outline.site.low), Array(max(1, Int64(number) - 2)...Int64(number)).map(UInt64.init))
    }
    stage.keep(try Self.beginning(bytes + 4, from: 5))
    #expect(stage.transfers(at: .zero).map(\.outline.site.low) == [4, 5])
    // One is kept whatever it takes.
    stage.keep(try Self.beginning(SyncLimits.stagedMemoryBytes + 1, from: 6))
    #expect(stage.transfers(at: .zero).map(\.outline.site.low) == [6])
  }

  @Test func `what sessions have reported takes the room of further beginnings`() throws {
    let stage = TransferStage()
    let bytes = SyncLimits.stagedMemoryBytes / 3
    // As many sessions, of which each has reported what there was when it began.
    var reported: [[StagedTransfer]] = []
    for number in 1...20 as ClosedRange<UInt64> {
      stage.keep(try Self.beginning(bytes, from: number))
      reported.append(stage.transfers(at: .zero))
      expect(stage.memoryBytes <= SyncLimits.stagedMemoryBytes, "\(stage.memoryBytes) after \(number)")
    }
    #expect(stage.memoryBytes == 3 * bytes && reported.count == 20)
    reported = []
    stage.keep(try Self.beginning(bytes, from: 21))
    #expect(stage.transfers(at: .zero).map(\.outline.site.low).last == 21)
    for transfer in stage.transfers(at: .zero) { stage.remove(transfer.number) }
    #expect(stage.memoryBytes == 0)
  }

  @Test func `little of a transfer is handed to the store at once`() throws {
    let raw = try RawPeer { $0.tuning.transfers.stagingSpan = .zero }
    defer { raw.peer.close() }
    try raw.open(subscribing: "SELECT * FROM things")
    let beginning = try #require(
      try Self.beginning(4 * SyncLimits.stagedAtOnceBytes, from: 1).bytes(in: 0..<4 << 20, of: raw.peer.store)
    )
    var most = 0
    for offset in stride(from: 0, to: beginning.count, by: Limits.fragmentBytes) {
      raw.sendChunk(
        of: 8 << 20, at: offset,
        Array(beginning[offset..<min(offset + Limits.fragmentBytes, beginning.count)]))
      most = max(most, raw.session.puller.pull.queue.assembly.pieceBytes)
    }
    #expect(raw.closed == nil, "\(raw.closed as Any)")
    #expect(most <= SyncLimits.stagedAtOnceBytes + WriteTransaction.stagedChunkBytes && most > 0, "\(most)")
  }

  @Test func `so many peers' subscriptions are remembered`() throws {
    let cache = InterestCache()
    for number in 0...SyncLimits.knownInterests {
      let site = SiteID(high: 1, low: UInt64(number))
      cache.insert(Interest([]), byteCount: 1, of: site)
    }
    #expect(cache.byteCount == SyncLimits.knownInterests)
  }
}
