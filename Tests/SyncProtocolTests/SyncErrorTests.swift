import CRDTCore
import DocStore
import SyncProtocol
import TestKit
import Testing

/// The codes with which sessions end, one by one where other suites name several.
@Suite struct SyncErrorTests {
  @Test func `a frame that was changed on its way ends the session with checksum`() throws {
    let raw = try RawPeer()
    try raw.open(subscribing: "SELECT * FROM things")
    var frame = FrameCodec.frame(.asked) { $0.writeVarint(1) }
    frame[frame.count - 1] ^= 1
    raw.receive(frames: frame)
    #expect(raw.closed?.code == .checksum)
    let bye = try #require(raw.sent(.bye).first)
    #expect(bye.starts(with: [8] + Array("checksum".utf8)))
  }

  @Test func `a stretch that is not what the peer means ends the session with checksum, and is forgotten`()
    throws
  {
    var raw = try RawPeer()
    try raw.open(subscribing: "SELECT * FROM things")
    raw.sendBeginning(Array(try GoldenMessages.largeGroup().prefix(60_000)), of: 150_000)
    // The session before is over when nobody holds it any more.
    raw = RawPeer(on: raw)
    try raw.open(subscribing: "SELECT * FROM things")
    try #require(raw.sent(.staged).count == 1)
    raw.send(.reuse) { out in
      out.write(0)
      // The first part of the only transfer that is staged.
      for number in [1, 150_000, 0, 0, 0, 1] as [UInt64] { out.writeVarint(number) }
      out.writeFixed(0 as UInt64)
    }
    #expect(raw.closed?.code == .checksum, "\(raw.closed as Any)")
    #expect(raw.batches.isEmpty)
    #expect(raw.peer.shared.stage.isEmpty)
  }

  /// Takes nothing from anybody.
  private struct Refusal: SyncGate {
    var epoch: UInt64 { 0 }
    func fingerprint(toward peer: PeerKind) -> UInt64 { 1 }
    func maySend(collection: String, to peer: PeerKind) -> Bool { true }
    func mayAccept(collection: String, from peer: PeerKind) -> Bool { false }
  }

  @Test func `what the gate does not take is dropped, and told once`() throws {
    let raw = try RawPeer(gate: Refusal())
    try raw.open(subscribing: "SELECT * FROM things")
    for id in ["a", "b"] { try raw.sendDocument(id, ["n": .int(1)]) }
    try raw.apply()
    let refusals = raw.events.filter { if case .refused = $0 { true } else { false } }
    #expect(
      refusals == [.refused(collection: "things", reason: "The collection is not accepted from this peer")])
    #expect(raw.closed == nil)
    #expect(try raw.peer.documents().isEmpty)
  }
}
