import CRDTCore
import DocStore
import Foundation
import QueryEngine
import ScopePolicy
import Testing

@testable import SyncProtocol

/// What earlier releases wrote is read for ever; golden files are never made anew.
@Suite struct GoldenFrameTests {
  private func golden(_ name: String) throws -> [UInt8] {
    let url = try #require(Bundle.module.url(forResource: name, withExtension: "bin", subdirectory: "Golden"))
    let bytes = [UInt8](try Data(contentsOf: url))
    Attachment.record(bytes, named: "\(name).bin")
    return bytes
  }

  private static let names = [
    "hello", "compare", "answer", "want", "have", "offer", "resume", "resume-lag", "resumed", "mark",
    "announce", "prune", "ask", "stop-ask", "filter", "acknowledge", "staged", "reuse", "interest", "asked",
    "settled", "fragment", "fragment-drop", "chunk", "chunk-drop", "ping", "pong", "renew", "renewed",
    "unreadable", "filter-wanted", "bye", "seen", "run", "rows", "answered",
  ]

  @Test(arguments: names)
  func `frames have the bytes that version 1 has`(name: String) throws {
    let frame = try #require(try GoldenMessages().frames.first { $0.name == name }).frame
    Attachment.record(frame, named: "new-\(name)-v1.bin")
    #expect(try frame == golden("\(name)-v1"))
  }

  @Test func `there is a golden file of every type of frame`() throws {
    let types = try Self.names.map { FrameType(of: try golden("\($0)-v1")) }
    #expect(Set(types) == Set(FrameType.allCases))
  }

  @Test func `frames of version 1 say what they said`() throws {
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
    try read("prune") { reader throws(CodecError) in #expect(try Prune(from: &reader) == messages.prune) }
    try read("ask") { reader throws(CodecError) in
      #expect(try reader.readVarint() == 1)
      #expect(try QueryQuestion(from: &reader) == messages.statement)
    }
    try read("filter") { reader throws(CodecError) in
      let frame = try FilterFrame(from: &reader)
      #expect(frame.generation == 2 && frame.collection == "cars" && frame.offset == 0)
      #expect(frame.bytes == messages.filter.bytes && frame.totalBytes == frame.bytes.count)
    }
    try read("acknowledge") { reader throws(CodecError) in
      #expect(try Acknowledgement(from: &reader) == messages.acknowledgement)
    }
  }

  @Test func `frames of version 1 that carry others' bytes say what they said`() throws {
    try read("interest") { reader throws(CodecError) in
      let frame = try InterestFrame(from: &reader)
      #expect(frame.generation == 2 && frame.isFirst && frame.isLast && frame.isContinued)
      #expect(frame.queries.map(\.text) == ["SELECT * FROM cars WHERE color = :c"])
      #expect(frame.queries.map(\.arguments) == [["c": .string("red")]])
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
      try read(name) { reader throws(CodecError) in #expect(try reader.readVarint() == 300) }
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

  /// What a frame of version 1 carries.
  private func payload(_ name: String) throws -> [UInt8] {
    let bytes = try golden("\(name)-v1")
    let bounds = try #require(try FrameCodec.next(in: bytes.span.bytes, at: 0))
    return Array(bytes[bounds.payload])
  }

  /// A session that has met a peer, and is told what version 1 said.
  private func session(told names: String...) throws -> RawPeer {
    let raw = try RawPeer()
    try raw.open(subscribing: "SELECT * FROM cars")
    for name in names { raw.receive(try golden("\(name)-v1")) }
    return raw
  }

  @Test func `a session answers as version 1 did`() throws {
    let raw = try session(told: "ping", "filter-wanted")
    #expect(raw.sent(.pong) == [try payload("pong")])
    #expect(raw.sent(.filter).count == 1)
    // All is equal, and settled, until it is to be compared anew.
    raw.send(.answer) { $0.write([1, 1, 1, 0]) }
    raw.send(.settled) { $0.writeVarint(1) }
    #expect(raw.sent(.compare).count == 1)
    raw.receive(try golden("renew-v1"))
    #expect(raw.sent(.compare).count == 2)
    raw.perform(raw.session.close(now: raw.now))
    #expect(raw.sent(.bye) == [try payload("bye")])
  }

  @Test func `a session ends as those of version 1 did`() throws {
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
    twin.receive(try golden("run-v1"))
    #expect(twin.closed?.code == .cloned)
  }

  @Test func `a session that has other things to tell says renew as version 1 did`() throws {
    let raw = try session()
    try raw.sendInterest("SELECT * FROM cars")
    try raw.peer.scopes.set(["secrets": .localPeerOnly])
    raw.perform(raw.session.policyChanged(now: raw.now))
    #expect(raw.sent(.renew) == [try payload("renew")])
  }

  @Test func `which parts of a large group are there is said as version 1 says it`() throws {
    try read("staged") { reader throws(CodecError) in
      #expect(try reader.readVarint() == 1)
      let notice = try StagedNotice(from: &reader)
      #expect(notice.grain == 12 && notice.tailBytes == 500)
      #expect(notice.names == [0x0102_0304_0506] && notice.tailName == 0x0708_090A_0B0C)
      let again = FrameCodec.frame(.staged, in: .compact) { out in
        out.writeVarint(1)
        notice.encode(to: &out)
      }
      #expect(again == (try? golden("staged-v1")))
    }
    try read("reuse") { reader throws(CodecError) in
      let frame = try ReuseFrame(from: &reader)
      #expect(frame.transfer == 5 && frame.totalBytes == 150_000 && frame.offset == 300)
      #expect(frame.stage == 1 && frame.first == 2 && frame.count == 7)
      #expect(frame.includesTail && frame.isLearnt && frame.hash == 0x0102_0304_0506_0708)
      let again = FrameCodec.frame(.reuse, in: .compact) { frame.encode(to: &$0) }
      #expect(again == (try? golden("reuse-v1")))
    }
  }

  private func read(_ name: String, _ body: (inout ByteReader) throws(CodecError) -> Void) throws {
    let bytes = try golden("\(name)-v1")
    let bounds = try #require(try FrameCodec.next(in: bytes.span.bytes, at: 0))
    #expect(bounds.end == bytes.count)
    var reader = ByteReader(bytes.span.bytes.extracting(bounds.payload))
    try body(&reader)
    let isWhole = reader.isAtEnd
    #expect(isWhole)
  }

  @Test func `a session that version 1 recorded still syncs`() throws {
    let recording = try golden("session-v1")
    let raw = try RawPeer()
    try raw.peer.subscribe("SELECT * FROM cars")
    raw.perform(raw.session.subscriptionsChanged(raw.peer.queries, now: raw.now))
    raw.start()
    var position = 0
    var types: Set<FrameType> = []
    while let bounds = try FrameCodec.next(in: recording.span.bytes, at: position) {
      types.insert(try #require(FrameType(rawValue: bounds.type)))
      raw.receive(Array(recording[position..<bounds.end]))
      try raw.apply()
      position = bounds.end
    }
    #expect(position == recording.count)
    #expect(types.isSuperset(of: [.hello, .interest, .answer, .fragment, .chunk, .settled]))
    #expect(raw.closed == nil)
    let held = try raw.peer.documents(in: "cars")
    #expect(held.keys.sorted() == ["a", "b", "large"])
    #expect(held["a"] == ["color": .string("red"), "count": .counter(2)])
    #expect(held["b"] == ["color": .string("blue"), "tags": .array([.int(1), .null])])
    #expect(held["large"] == GoldenMessages.largeFields)
    #expect(raw.events.contains(.caughtUp(generation: 1)))
  }
}
