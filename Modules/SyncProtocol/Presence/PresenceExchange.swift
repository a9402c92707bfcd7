import CRDTCore

/// Exchanges presence over one session, in both directions.
///
/// An observing peer requests a state newer than the one it has, and again half a second after an answer. So
/// it gets updates no faster than it can process them, and each update is the newest. A peer that does not
/// ask gets none.
final class PresenceExchange {
  private let context: SessionContext

  // MARK: - The presence of this peer

  private var own: SignedPresence?
  /// The version that the peer has, if it waits for a newer one.
  private var wanted: PeerPresence.Version?
  /// The last version sent, which is not sent again however often the peer asks.
  private var sent = PeerPresence.Version.none

  // MARK: - The presence of the other peer

  private var isObserving = false
  /// Whether the session is open, so that something may be sent.
  private var isOpen = false
  /// Whether a request is open, so that the peer may answer.
  private var isOwed = false
  private var received = PeerPresence.Version.none
  /// When the next request is due.
  private(set) var asksAt: Duration?

  /// The time between an answer and the next request.
  static let interval = Duration.milliseconds(500)

  init(_ context: SessionContext) { self.context = context }

  /// Requests presence as set before the session was open.
  func open() {
    isOpen = true
    if isObserving { ask() }
  }

  /// Sets the presence to publish from now on.
  func publish(_ own: SignedPresence) {
    self.own = own
    answer()
  }

  /// Starts or stops requesting the peer's presence.
  func observe(_ observes: Bool) {
    guard observes != isObserving else { return }
    isObserving = observes
    guard isOpen else { return }
    if observes { return ask() }
    asksAt = nil
    context.send(.presenceWanted) { $0.write(0) }
  }

  /// Requests a state newer than the last one received.
  private func ask() {
    asksAt = nil
    isOwed = true
    context.send(.presenceWanted) { out in
      out.write(1)
      out.writeVarint(received.start)
      out.writeVarint(received.number)
    }
  }

  /// Sends the next request if it is due.
  func checkTime(_ now: Duration) {
    if let asksAt, now >= asksAt { ask() }
  }

  /// Processes the peer's request; `nil` withdraws it.
  func receive(wanted: PeerPresence.Version?) {
    self.wanted = wanted
    answer()
  }

  private func answer() {
    guard context.access.hearsPresence, let wanted, let own, own.presence.version > max(wanted, sent) else {
      return
    }
    self.wanted = nil
    sent = own.presence.version
    context.send(.presence) { own.encode(to: &$0) }
  }

  /// Processes the peer's presence.
  func receive(_ signed: SignedPresence) throws(SyncError) {
    guard isOwed else { throw SyncError(.outOfOrder, "The peer tells of itself unasked") }
    isOwed = false
    guard signed.presence.version > received else {
      throw SyncError(.malformed, "What the peer tells of itself is older than what it has told")
    }
    guard signed.presence.site == context.peer?.site else {
      throw SyncError(.malformed, "The peer tells of another one as if of itself")
    }
    guard signed.presence.kind == context.peer?.kind else {
      throw SyncError(.malformed, "The peer tells of itself as of another kind of peer than in its hello")
    }
    received = signed.presence.version
    context.ask(.presence(signed))
    if isObserving { asksAt = context.now + Self.interval }
  }

  /// Processes frames of presence.
  func receive(_ type: FrameType, _ reader: inout ByteReader) throws(FrameFailure) {
    guard type == .presence else {
      let wanted = try reader.whole { (reader) throws(CodecError) -> PeerPresence.Version? in
        guard try reader.readFlag() else { return nil }
        return PeerPresence.Version(start: try reader.readVarint(), number: try reader.readVarint())
      }
      return receive(wanted: wanted)
    }
    let signed = try reader.whole { (reader) throws(CodecError) in try SignedPresence(from: &reader) }
    try run { () throws(SyncError) in try receive(signed) }
  }
}
