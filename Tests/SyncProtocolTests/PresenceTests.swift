import CRDTCore
import DocStore
import SyncProtocol
import TestKit
import Testing

/// What peers tell each other of themselves.
@Suite struct PresenceTests {
  static func presence(
    _ number: UInt64, start: UInt64 = 5, of site: SiteID = RawPeer.hello.site, kind: PeerKind = .small,
    metadata: [TextKey: Value] = ["room": .string("galley")]
  ) -> SignedPresence {
    let presence = PeerPresence(
      site: site, version: PeerPresence.Version(start: start, number: number), kind: kind,
      deviceName: "tablet", system: "Linux", release: "1.2", reachesBigPeer: true, metadata: metadata)
    return SignedPresence(presence) { (_: [UInt8]) in [1, 2, 3] }
  }

  /// A subject that observes a peer that is played by hand, once it was asked.
  private func observing() throws -> RawPeer {
    let raw = try RawPeer()
    try raw.open()
    raw.perform(raw.session.observePresence(true, now: raw.now))
    return raw
  }

  private func tell(_ raw: RawPeer, _ signed: SignedPresence) {
    raw.send(.presence) { signed.encode(to: &$0) }
  }

  private func ask(_ raw: RawPeer, after version: PeerPresence.Version?) {
    raw.send(.presenceWanted) { out in
      out.write(version == nil ? 0 : 1)
      guard let version else { return }
      out.writeVarint(version.start)
      out.writeVarint(version.number)
    }
  }

  @Test func `who does not ask is told nothing, and who asks is told what is newer than what it has`() throws
  {
    let raw = try RawPeer()
    let site = raw.peer.store.site
    try raw.open()
    raw.perform(raw.session.publishPresence(Self.presence(1, of: site), now: raw.now))
    #expect(raw.sent(.presence).isEmpty && raw.sent(.presenceWanted).isEmpty)
    ask(raw, after: .init(start: 5, number: 1))
    #expect(raw.sent(.presence).isEmpty)
    raw.perform(raw.session.publishPresence(Self.presence(2, of: site), now: raw.now))
    #expect(raw.sent(.presence).count == 1)
    // It asks once for each state.
    raw.perform(raw.session.publishPresence(Self.presence(3, of: site), now: raw.now))
    #expect(raw.sent(.presence).count == 1)
    ask(raw, after: .init(start: 5, number: 2))
    #expect(raw.sent(.presence).count == 2)
    // Who says that it has nothing is not told the same again.
    for _ in 0..<100 { ask(raw, after: PeerPresence.Version.none) }
    #expect(raw.sent(.presence).count == 2)
    ask(raw, after: nil)
    raw.perform(raw.session.publishPresence(Self.presence(4, of: site), now: raw.now))
    #expect(raw.sent(.presence).count == 2 && raw.closed == nil)
  }

  @Test func `what was to be told and asked before the peers met is told and asked then`() throws {
    let raw = try RawPeer()
    raw.perform(raw.session.publishPresence(Self.presence(1, of: raw.peer.store.site), now: raw.now))
    raw.perform(raw.session.observePresence(true, now: raw.now))
    try raw.open()
    ask(raw, after: PeerPresence.Version.none)
    #expect(raw.sent(.presence).count == 1 && raw.sent(.presenceWanted).count == 1)
  }

  @Test func `a peer is asked again half a second after its answer, and not when nobody observes`() throws {
    let raw = try observing()
    #expect(raw.sent(.presenceWanted) == [[1, 0, 0]])
    tell(raw, Self.presence(1))
    #expect(raw.presences == [Self.presence(1)])
    raw.tick(after: .milliseconds(499))
    #expect(raw.sent(.presenceWanted).count == 1)
    raw.tick(after: .milliseconds(1))
    #expect(raw.sent(.presenceWanted).last == [1, 5, 1])
    tell(raw, Self.presence(2))
    raw.perform(raw.session.observePresence(false, now: raw.now))
    raw.tick(after: .seconds(1))
    #expect(raw.sent(.presenceWanted).count == 3 && raw.sent(.presenceWanted).last == [0])
    // What was on its way may come, once.
    raw.perform(raw.session.observePresence(true, now: raw.now))
    raw.perform(raw.session.observePresence(false, now: raw.now))
    tell(raw, Self.presence(3))
    #expect(raw.closed == nil && raw.presences.count == 3)
    tell(raw, Self.presence(4))
    #expect(raw.closed?.code == .outOfOrder)
  }

  @Test func `what comes unasked, again, or of another peer or kind ends the session`() throws {
    let unasked = try RawPeer()
    try unasked.open()
    tell(unasked, Self.presence(1))
    #expect(unasked.closed?.code == .outOfOrder)
    for wrong in [
      Self.presence(2), Self.presence(1), Self.presence(9, start: 4),
      Self.presence(3, of: SiteID(high: 1, low: 1)), Self.presence(3, kind: .big),
    ] {
      let raw = try observing()
      tell(raw, Self.presence(2))
      raw.tick(after: .seconds(1))
      expect(raw.closed == nil)
      tell(raw, wrong)
      expect(raw.closed?.code == .malformed && raw.presences.count == 1)
    }
  }

  @Test func `what an application adds has a limit, and texts are cut to theirs`() throws {
    let most: [TextKey: Value] = ["x": .string(String(repeating: "y", count: 4_088))]
    #expect(PeerPresence.byteCount(of: most) == PeerPresence.metadataBytes - 1)
    let raw = try observing()
    tell(raw, Self.presence(1, metadata: most))
    #expect(raw.presences.first?.presence.metadata == most)
    raw.tick(after: .seconds(1))
    var content = ByteWriter()
    var long = Self.presence(2).presence
    long.metadata = ["x": .string(String(repeating: "y", count: 4_090))]
    long.encode(to: &content)
    raw.send(.presence) { out in
      out.writeBlob(content.bytes)
      out.writeBlob([])
    }
    #expect(raw.closed?.code == .limit)
    let cut = PeerPresence(
      site: SiteID(high: 1, low: 1), version: .init(start: 1, number: 1), kind: .big,
      deviceName: String(repeating: "ü", count: 100), system: "", release: "", reachesBigPeer: false)
    #expect(cut.deviceName.utf8.count == PeerPresence.textBytes)
  }

  private func read(_ bytes: [UInt8]) throws -> SignedPresence {
    var reader = ByteReader(bytes.span.bytes)
    let signed = try SignedPresence(from: &reader)
    guard reader.isAtEnd else { throw CodecError(.malformed, "there is more") }
    return signed
  }

  @Test func `bytes that are no presence end the session`() throws {
    var whole = ByteWriter()
    Self.presence(1).encode(to: &whole)
    let raw = try observing()
    raw.send(.presence) { $0.write(whole.bytes.dropLast()) }
    #expect(raw.closed?.code == .truncated && raw.presences.isEmpty)
    for length in 0..<whole.count {
      #expect(throws: CodecError.self) { try read(Array(whole.bytes[..<length])) }
    }
    var random = SeededGenerator(seed: 35)
    for _ in 0..<20_000 {
      var bytes = whole.bytes
      bytes[Int.random(in: 0..<bytes.count, using: &random)] ^= UInt8.random(in: 1...255, using: &random)
      // It is refused, or it is something that the same bytes stand for again.
      guard let signed = try? read(bytes) else { continue }
      var again = ByteWriter()
      signed.encode(to: &again)
      expectEqual(again.bytes, bytes)
    }
  }
}
