import CRDTCore
import DocStore
import ScopePolicy
import Testing

@testable import SyncProtocol

/// What a sender says of how far it has served a receiver that is played by hand, and of what it sends.
///
/// They hold rule 6 in `Documentation/Sync.md`.
@Suite struct PusherMarkTests {
  /// A sender with one document, and a receiver that has asked for all and compared nothing yet.
  private func sender() throws -> RawPeer {
    let raw = try RawPeer { $0.compressionLevel = 0 }
    try raw.peer.put("x", ["n": .int(1)])
    _ = raw.peer.takeCommits()
    try raw.open(subscribing: "SELECT * FROM things")
    try raw.sendInterest("SELECT * FROM things")
    return raw
  }

  private func begin(_ raw: RawPeer, _ reconciliation: UInt64) {
    raw.send(.compare) { out in
      out.writeVarint(reconciliation)
      out.writeVarint(1)
      RangeQuestion.everything(reconciliation, KeyRange(collection: "things")).encode(to: &out)
    }
  }

  private func finish(_ raw: RawPeer, _ reconciliation: UInt64) {
    raw.send(.asked) { $0.writeVarint(reconciliation) }
  }

  private func set(_ raw: RawPeer, _ scope: SyncScope) throws {
    try raw.peer.scopes.set(["things": scope])
    raw.perform(raw.session.policyChanged(now: raw.now))
  }

  private func marks(_ raw: RawPeer) throws -> [MarkFrame] {
    try raw.sent(.mark).map { payload in
      var reader = ByteReader(payload.span.bytes)
      return try MarkFrame(from: &reader)
    }
  }

  @Test func `a mark follows what is compared, under the policy of that time`() throws {
    let raw = try sender()
    begin(raw, 1)
    #expect(try marks(raw).isEmpty)
    finish(raw, 1)
    #expect(raw.sent(.settled).count == 1)
    #expect(try marks(raw).map(\.policyHash) == [raw.peer.scopes.fingerprint(toward: .small)])
  }

  @Test func `what is compared while the policy changes tells nothing`() throws {
    let raw = try sender()
    begin(raw, 1)
    try set(raw, .bigPeerOnly)
    raw.send(.renewed)
    finish(raw, 1)
    #expect(raw.sent(.renew).count == 1 && raw.sent(.settled).count == 1)
    raw.tick(after: .seconds(1))
    #expect(try marks(raw).isEmpty)
    begin(raw, 2)
    finish(raw, 2)
    #expect(raw.sent(.settled).count == 2)
    #expect(try marks(raw).map(\.policyHash) == [raw.peer.scopes.fingerprint(toward: .small)])
  }

  @Test func `who begins to compare before it can hear that all is lost hears so, and begins again`() throws {
    let raw = try sender()
    begin(raw, 1)
    finish(raw, 1)
    // What follows may cover some collections only.
    raw.session.pusher.feed.compareInstead()
    begin(raw, 2)
    #expect(raw.sent(.renew).count == 1 && raw.session.pusher.peer.reconciliation.isVoid)
    #expect(raw.session.pusher.peer.holding.isAwaited)
    raw.send(.renewed)
    begin(raw, 3)
    #expect(raw.session.pusher.peer.holding.isKnown && !raw.session.pusher.peer.reconciliation.isVoid)
    #expect(raw.sent(.renew).count == 1 && raw.closed == nil)
  }

  @Test func `what is compared before the receiver has heard of a changed policy tells and brings nothing`()
    throws
  {
    let raw = try sender()
    begin(raw, 1)
    finish(raw, 1)
    let before = try marks(raw)
    try set(raw, .localPeerOnly)
    try set(raw, .smallPeersOnly)
    let sent = raw.sent(.fragment).count
    raw.send(.renewed)
    begin(raw, 2)
    raw.send(.renewed)
    finish(raw, 2)
    #expect(raw.sent(.fragment).count == sent)
    raw.tick(after: .seconds(1))
    #expect(raw.sent(.settled).count == 2)
    #expect(try marks(raw) == before)
    // Nothing was written since, but it holds once more.
    begin(raw, 3)
    finish(raw, 3)
    #expect(raw.sent(.fragment).count == sent + 1)
    #expect(
      try marks(raw).dropFirst().map(\.policyHash) == [raw.peer.scopes.fingerprint(toward: .small)])
  }

  @Test func `a receiver says that it has heard of a changed policy before it compares`() throws {
    let raw = try RawPeer()
    try raw.open(subscribing: "SELECT * FROM things")
    raw.send(.answer) { $0.write([1, 1, 1, 0]) }
    raw.send(.settled) { $0.writeVarint(1) }
    let before = raw.frames.count
    raw.send(.renew)
    #expect(raw.frames.dropFirst(before).map(\.type).prefix(2) == [.renewed, .compare])
  }

  /// A peer that asks for little is not to pay for all that its neighbour takes in.
  @Test(arguments: [1, 2] as [Int64])
  func `a commit that does not concern the receiver calls for no mark soon`(number: Int64) throws {
    let raw = try RawPeer()
    try raw.peer.put("x", ["n": .int(1)])
    _ = raw.peer.takeCommits()
    try raw.open()
    try raw.sendInterest("SELECT * FROM things WHERE n = 1")
    begin(raw, 1)
    finish(raw, 1)
    let before = try marks(raw).count
    try raw.peer.put("y", ["n": .int(number)])
    raw.perform(raw.session.committed(raw.peer.takeCommits(), now: raw.now))
    raw.tick(after: .seconds(1))
    #expect(try marks(raw).count == before + (number == 1 ? 1 : 0))
    for _ in 0..<3 {
      raw.tick(after: CheckpointMessages.quietInterval / 3)
      raw.send(.ping) { $0.writeFixed(7 as UInt64) }
    }
    #expect(try marks(raw).count == before + 1)
  }

  /// Only a received document carries a checksum, since the receiver may have it in another state.
  ///
  /// Nobody else has a document that was just written here.
  @Test(arguments: [false, true])
  func `a whole document tells its sum where another brought it`(isForwarded: Bool) throws {
    let raw = try sender()
    // Nothing is announced to who has asked for what was.
    raw.sendWants(0, flags: 2)
    try raw.peer.store.write(origin: isForwarded ? .remote(99) : .user) { transaction in
      try transaction.upsert(["n": .int(1)], id: try DocumentID("y"), into: "things")
    }
    raw.perform(raw.session.committed(raw.peer.takeCommits(), now: raw.now))
    let fragment = try #require(raw.sent(.fragment).first)
    var reader = ByteReader(fragment.span.bytes)
    _ = (try reader.readByte(), try reader.readVarint(), try reader.readVarint())
    #expect(try reader.readVarint() == 1)
    #expect(try reader.readString() == "things")
    _ = try reader.readBlob()
    #expect(
      try reader.readByte() & TransactionEncoder.checkFlag == (isForwarded ? TransactionEncoder.checkFlag : 0)
    )
  }
}
