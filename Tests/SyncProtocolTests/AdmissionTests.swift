import CRDTCore
import DocStore
import SyncProtocol
import TestKit
import Testing

/// Whether the peer is let in, which others than the session decide, and whether it is still there.
@Suite struct AdmissionTests {
  private func incoming() throws -> RawPeer {
    try RawPeer { configuration in
      configuration.isIncoming = true
      configuration.asksForAdmission = true
    }
  }

  private func admit(_ raw: RawPeer) { raw.perform(raw.session.admit(.everything, now: raw.now)) }

  private func isAlive(_ raw: RawPeer) -> [Bool] {
    raw.admissions.compactMap { if case .isAlive(let isAlive) = $0 { isAlive } else { nil } }
  }

  @Test func `who was dialed says hello when the other has, and is let in`() throws {
    let raw = try incoming()
    raw.start()
    #expect(raw.frames.isEmpty)
    raw.send(.hello) { RawPeer.hello.encode(to: &$0) }
    #expect(raw.frames.isEmpty && raw.session.peer == nil && raw.events.isEmpty)
    guard case .met(let peer)? = raw.admissions.first else { throw Missing() }
    #expect(peer.site == RawPeer.hello.site && peer.name == "hand")
    admit(raw)
    #expect(raw.frames.first?.type == .hello)
    #expect(raw.session.peer == peer)
    // Once is enough.
    admit(raw)
    #expect(raw.sent(.hello).count == 1)
  }

  @Test func `a peer may do nothing before it is let in, and then what its grant says`() throws {
    let raw = try incoming()
    raw.start()
    raw.send(.hello) { RawPeer.hello.encode(to: &$0) }
    #expect(raw.session.delivery.access == .nothing)
    admit(raw)
    #expect(raw.session.delivery.access == .everything)
  }

  @Test(arguments: [1, 7, 1_000])
  func `what the peer says before it is let in is kept, and taken then`(pieceBytes: Int) throws {
    let raw = try RawPeer { $0.asksForAdmission = true }
    raw.start()
    var stream = FrameCodec.frame(.hello, isFirst: true) { RawPeer.hello.encode(to: &$0) }
    for number in 0..<3 {
      var ping = FrameCodec.frame(.ping) { $0.writeFixed(UInt64(number)) }
      FrameCodec.number(&ping, as: UInt32(number))
      stream += ping
    }
    for start in stride(from: 0, to: stream.count, by: pieceBytes) {
      raw.receive(Array(stream[start..<min(start + pieceBytes, stream.count)]))
    }
    #expect(raw.sent(.pong).isEmpty && raw.closed == nil)
    raw.tick(after: .seconds(3_600))
    #expect(raw.closed == nil)
    admit(raw)
    #expect(raw.sent(.pong).count == 3 && raw.closed == nil)
  }

  @Test func `a peer that is refused is told why, and by whom`() throws {
    let raw = try incoming()
    raw.start()
    raw.send(.hello) { RawPeer.hello.encode(to: &$0) }
    raw.perform(raw.session.close(SyncError(.limit, "no room"), now: raw.now))
    #expect(raw.closed?.code == .limit && raw.frames.map(\.type) == [.bye])
    let dialer = try RawPeer()
    dialer.start()
    dialer.receive(FrameCodec.frame(.bye, isFirst: true) { $0.write(raw.sent(.bye)[0]) })
    #expect(dialer.closed?.code == .peerClosed && dialer.closed?.message.contains("no room (limit)") == true)
    #expect(dialer.session.refusedBy == raw.peer.store.site && dialer.events.isEmpty)
  }

  @Test func `a peer that is refused for its kind has the same code, before and after hello`() throws {
    let raw = try incoming()
    raw.start()
    raw.send(.hello) { RawPeer.hello.encode(to: &$0) }
    raw.perform(raw.session.close(SyncError(.kindMismatch, "issue another one"), now: raw.now))
    #expect(raw.closed?.code == .kindMismatch && raw.frames.map(\.type) == [.bye])
    let dialer = try RawPeer()
    dialer.start()
    dialer.receive(FrameCodec.frame(.bye, isFirst: true) { $0.write(raw.sent(.bye)[0]) })
    #expect(dialer.session.refusedBy == raw.peer.store.site && dialer.events.isEmpty)
    let listener = try RawPeer()
    try listener.open()
    listener.send(.bye) { out in
      out.writeString("kindMismatch")
      out.writeString("issue another one")
    }
    for refused in [dialer, listener] {
      expectEqual(
        refused.closed, SyncError(.kindMismatch, "The peer ended the session: issue another one"))
      expect(refused.sent(.bye).isEmpty)
    }
  }

  @Test func `a stranger is not told whose peer it has met`() throws {
    let raw = try incoming()
    raw.start()
    var hello = RawPeer.hello
    hello.appID = "other"
    raw.send(.hello) { hello.encode(to: &$0) }
    #expect(raw.closed?.code == .appMismatch && raw.frames.map(\.type) == [.bye])
    let dialer = try RawPeer()
    dialer.start()
    dialer.receive(FrameCodec.frame(.bye, isFirst: true) { $0.write(raw.sent(.bye)[0]) })
    #expect(dialer.closed?.code == .appMismatch && dialer.session.refusedBy == nil)
  }

  @Test func `a peer with this store's site is answered without asking`() throws {
    let raw = try incoming()
    raw.start()
    var hello = RawPeer.hello
    hello.site = raw.peer.store.site
    raw.send(.hello) { hello.encode(to: &$0) }
    #expect(raw.frames.map(\.type) == [.hello, .run] && raw.admissions.isEmpty)
  }

  @Test func `a peer that is asked for a sign of life is pinged, and whatever it sends counts`() throws {
    let raw = try RawPeer()
    try raw.open()
    func ask() { raw.perform(raw.session.askForSignOfLife(within: .seconds(2), now: raw.now)) }
    ask()
    // A second question is the same one.
    ask()
    #expect(raw.sent(.ping).count == 1 && isAlive(raw) == [])
    raw.send(.pong) { $0.write(raw.sent(.ping)[0]) }
    #expect(isAlive(raw) == [true])
    ask()
    raw.send(.settled) { $0.writeVarint(1) }
    #expect(isAlive(raw) == [true, true])
    ask()
    raw.tick(after: .milliseconds(1_999))
    #expect(isAlive(raw) == [true, true])
    raw.tick(after: .milliseconds(1))
    #expect(isAlive(raw) == [true, true, false])
    raw.send(.settled) { $0.writeVarint(1) }
    #expect(isAlive(raw).count == 3 && raw.closed == nil)
  }

  @Test func `a peer far away has four round trips for a sign of life`() throws {
    let raw = try RawPeer()
    try raw.open(subscribing: "SELECT * FROM things")
    raw.tick(after: .seconds(1))
    raw.send(.answer) { out in
      out.writeVarint(1)
      out.writeVarint(1)
      RangeAnswer.equal(1).encode(to: &out)
    }
    raw.perform(raw.session.askForSignOfLife(within: .seconds(2), now: raw.now))
    raw.tick(after: .milliseconds(3_999))
    #expect(isAlive(raw) == [])
    raw.tick(after: .milliseconds(1))
    #expect(isAlive(raw) == [false])
  }

  private struct Missing: Error {}
}
