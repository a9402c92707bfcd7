import CRDTCore
import DocStore
import Foundation
import QueryEngine
import ScopePolicy
import TestKit
import Testing

@testable import SyncProtocol

/// What earlier releases wrote is read for ever; golden files are never made anew.
@Suite struct GoldenFrameTests {
  /// Their names without extension: each with the version of the protocol in which it last changed.
  private static let files = [
    "hello-v2", "compare-v2", "answer-v2", "want-v2", "have-v2", "offer-v2", "resume-v2", "resume-lag-v2",
    "resumed-v1", "mark-v1", "announce-v1", "prune-v1", "ask-v1", "stop-ask-v1", "filter-v2",
    "filter-refused-v2", "acknowledge-v1", "staged-v1", "reuse-v1", "interest-v1", "asked-v1", "settled-v1",
    "fragment-v1",
    "fragment-drop-v1", "chunk-v1", "chunk-drop-v1", "ping-v1", "pong-v1", "renew-v1", "renewed-v1",
    "unreadable-v1", "filter-wanted-v2", "bye-v1", "seen-v1", "run-v2", "rows-v1", "answered-v1",
    "withheld-v2", "presence-wanted-v2", "presence-v2", "forecast-v2",
    "revocations-v2", "withdraw-v2",
  ]

  private func golden(_ name: String) throws -> [UInt8] {
    let file = try #require(Self.files.first { $0.dropLast(3) == name })
    let url = try #require(Bundle.module.url(forResource: file, withExtension: "bin", subdirectory: "Golden"))
    let bytes = [UInt8](try Data(contentsOf: url))
    Attachment.record(bytes, named: "\(file).bin")
    return bytes
  }

  @Test(arguments: files.map { String($0.dropLast(3)) })
  func `frames have the bytes that version 2 has`(name: String) throws {
    let frame = try #require(try GoldenMessages().frames.first { $0.name == name }).frame
    Attachment.record(frame, named: "new-\(name).bin")
    #expect(try frame == golden(name))
  }

  @Test func `there is a golden file of every type of frame`() throws {
    let types = try Self.files.map { FrameType(of: try golden(String($0.dropLast(3)))) }
    #expect(Set(types) == Set(FrameType.allCases))
  }

  @Test func `frames of version 2 say what they said`() throws {
    let messages = try GoldenMessages()
    try read("hello") { reader throws(CodecError) in #expect(try Hello(from: &reader) == messages.hello) }
    try read("compare") { reader throws(CodecError) in
      #expect(try reader.readVarint() == 1)
      #expect(try reader.readVarint() == 1)
      #expect(try RangeQuestion(from: &reader) == messages.question)
    }
    try read("answer") { reader throws(CodecError) in
      #expect(try reader.readVarint() == 1)
      #expect(try reader.readVarint() == 1)
      #expect(try RangeAnswer(from: &reader) == messages.answer)
    }
    try read("want") { reader throws(CodecError) in #expect(try WantList(from: &reader) == messages.want) }
    try read("have") { reader throws(CodecError) in
      #expect(try DocumentHave.decode(from: &reader).haves == [messages.have])
    }
    try read("offer") { reader throws(CodecError) in
      #expect(try DocumentOffer.decode(from: &reader) == [messages.offer])
    }
    try read("withdraw") { reader throws(CodecError) in
      #expect(try Withdrawal.decode(from: &reader) == [messages.withdrawal])
    }
    try read("resume") { reader throws(CodecError) in
      #expect(try ResumeFrame(from: &reader) == messages.resume)
    }
    try read("resume-lag") { reader throws(CodecError) in
      #expect(try ResumeFrame(from: &reader) == messages.resumeWithLag)
    }
    try read("resumed") { reader throws(CodecError) in
      #expect(try ResumedFrame(from: &reader) == messages.resumed)
    }
    try read("mark") { reader throws(CodecError) in #expect(try MarkFrame(from: &reader) == messages.mark) }
    try read("announce") { reader throws(CodecError) in
      #expect(try Announcement(from: &reader) == messages.announcement)
    }
    try read("presence") { reader throws(CodecError) in
      #expect(try SignedPresence(from: &reader) == messages.presence)
    }
    try read("prune") { reader throws(CodecError) in #expect(try Prune(from: &reader) == messages.prune) }
    try read("ask") { reader throws(CodecError) in
      #expect(try reader.readVarint() == 1)
      #expect(try QueryQuestion(from: &reader) == messages.statement)
    }
    try read("filter") { reader throws(CodecError) in
      #expect(try FilterFrame(from: &reader) == messages.filterFrames.first)
    }
    try read("filter-refused") { reader throws(CodecError) in
      #expect(try FilterFrame(from: &reader) == messages.filterRefusal)
    }
    try read("filter-wanted") { reader throws(CodecError) in
      #expect(try FilterAsk(from: &reader) == messages.filterAsk)
    }
    try read("forecast") { reader throws(CodecError) in
      #expect(
        try ForecastFrame(from: &reader)
          == ForecastFrame(reconciliation: 300, documents: 5_000, isEstimate: true))
    }
    try read("acknowledge") { reader throws(CodecError) in
      #expect(try Acknowledgement(from: &reader) == messages.acknowledgement)
    }
  }

  @Test func `frames of version 2 that carry others' bytes say what they said`() throws {
    try read("interest") { reader throws(CodecError) in
      let frame = try InterestFrame(from: &reader)
      #expect(frame.generation == 2 && frame.isFirst && frame.isLast && frame.isContinued)
      let queries = try frame.queries.map { query throws(CodecError) in try query.decoded() }
      #expect(queries.map(\.text) == ["SELECT * FROM cars WHERE color = :c"])
      #expect(queries.map(\.arguments) == [["c": .string("red")]])
    }
    try read("fragment") { reader throws(CodecError) in
      #expect(try FragmentHead(from: &reader) == FragmentHead(.stored, plainBytes: 4))
      #expect(copy(try reader.readBytes(4)) == [3, 1, 2, 3])
    }
    try read("fragment-drop") { reader throws(CodecError) in
      #expect(try FragmentHead(from: &reader) == FragmentHead(nil, plainBytes: 0))
    }
    try read("chunk") { reader throws(CodecError) in
      let head = ChunkHead(.stored, transfer: 5, totalBytes: 150_000, offset: 300, plainBytes: 3)
      #expect(try ChunkHead(from: &reader) == head)
      #expect(copy(try reader.readBytes(3)) == [1, 2, 3])
    }
    try read("chunk-drop") { reader throws(CodecError) in
      #expect(try ChunkHead(from: &reader) == ChunkHead(dropping: 5))
    }
    for name in ["asked", "settled"] {
      try read(name) { reader throws(CodecError) in try expectEqual(reader.readVarint(), 300) }
    }
    try read("rows") { reader throws(CodecError) in
      #expect(try reader.readVarint() == 1)
      let row = try QueryRow(try reader.readBlob(), byteCount: 0)
      #expect(row.id.map(\.bytes) == [3] + Array("abc".utf8) && row.values == ["n": .int(7)])
    }
    try read("answered") { reader throws(CodecError) in
      #expect(try reader.readVarint() == 1)
      let end = QueryEnd(error: RemoteQueryError(.limit, "too much"), rows: 100, time: .milliseconds(1_500))
      #expect(try QueryEnd(from: &reader) == end)
    }
  }

  private func copy(_ bytes: RawSpan) -> [UInt8] { unsafe bytes.withUnsafeBytes { unsafe Array($0) } }

  /// What a frame of version 2 carries.
  private func payload(_ name: String) throws -> [UInt8] {
    let bytes = try golden(name)
    let bounds = try #require(try FrameCodec.next(in: bytes.span.bytes, at: 0))
    return Array(bytes[bounds.payload])
  }

  /// A session that has met a peer, and is told what version 2 said.
  private func session(told names: String...) throws -> RawPeer {
    let raw = try RawPeer()
    try raw.open(subscribing: "SELECT * FROM cars")
    for name in names { raw.receive(frames: try golden(name)) }
    return raw
  }

  @Test func `a session answers as version 2 did`() throws {
    let raw = try session(told: "ping", "filter-wanted")
    #expect(raw.sent(.pong) == [try payload("pong")])
    #expect(raw.sent(.filter).count == 1)
    // All is equal, and settled, until it is to be compared anew.
    raw.send(.answer) { $0.write([1, 1, 1, 0]) }
    raw.send(.settled) { $0.writeVarint(1) }
    #expect(raw.sent(.compare).count == 1)
    raw.receive(frames: try golden("renew"))
    #expect(raw.sent(.compare).count == 2)
    raw.perform(raw.session.close(now: raw.now))
    #expect(raw.sent(.bye) == [try payload("bye")])
  }

  @Test func `a session ends as those of version 2 did`() throws {
    let ended = try #require(try session(told: "bye").closed)
    #expect(ended.code == .peerClosed && ended.message.contains("The session was closed (closed)"))
    // Both are told of what they have not written themselves.
    #expect(try session(told: "seen").closed?.code == .cloned)
    let twin = try RawPeer()
    twin.start()
    twin.send(.hello) { out in
      var hello = RawPeer.hello
      hello.site = twin.peer.store.site
      hello.encode(to: &out)
    }
    #expect(twin.sent(.run).map(\.count) == [try payload("run").count])
    twin.receive(frames: try golden("run"))
    #expect(twin.closed?.code == .cloned)
  }

  @Test func `a session that has other things to tell says renew as version 2 did`() throws {
    let raw = try session()
    try raw.sendInterest("SELECT * FROM cars")
    try raw.peer.scopes.set(["secrets": .localPeerOnly])
    raw.perform(raw.session.policyChanged(now: raw.now))
    #expect(raw.sent(.renew) == [try payload("renew")])
  }

  @Test func `which parts of a large group are there is said as version 2 says it`() throws {
    try read("staged") { reader throws(CodecError) in
      #expect(try reader.readVarint() == 1)
      let notice = try StagedNotice(from: &reader)
      #expect(notice.grain == 12 && notice.tailBytes == 500)
      #expect(notice.names == [0x0102_0304_0506] && notice.tailName == 0x0708_090A_0B0C)
      let again = FrameCodec.frame(.staged) { out in
        out.writeVarint(1)
        notice.encode(to: &out)
      }
      #expect(again == (try? golden("staged")))
    }
    try read("reuse") { reader throws(CodecError) in
      let frame = try ReuseFrame(from: &reader)
      #expect(frame.transfer == 5 && frame.totalBytes == 150_000 && frame.offset == 300)
      #expect(frame.stage == 1 && frame.first == 2 && frame.count == 7)
      #expect(frame.includesTail && frame.isLearnt && frame.hash == 0x0102_0304_0506_0708)
      let again = FrameCodec.frame(.reuse) { frame.encode(to: &$0) }
      #expect(again == (try? golden("reuse")))
    }
  }

  private func read(_ name: String, _ body: (inout ByteReader) throws(CodecError) -> Void) throws {
    let bytes = try golden(name)
    let bounds = try #require(try FrameCodec.next(in: bytes.span.bytes, at: 0))
    expectEqual(bounds.end, bytes.count)
    var reader = ByteReader(bytes.span.bytes.extracting(bounds.payload))
    try body(&reader)
    let isWhole = reader.isAtEnd
    expect(isWhole)
  }
}
