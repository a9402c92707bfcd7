import CRDTCore

/// What one session tells its peer of this one, and asks it about itself.
///
/// A peer that observes asks for a state that is newer than the one it has, and asks again half a second after it came: so it is
/// told as often as it can take in, what it is told is the newest, and who does not ask is told nothing.
final class PresenceExchange {
  private let context: SessionContext

  // MARK: - This peer's

  private var own: SignedPresence?
  /// What the peer has, where it waits for something newer.
  private var wanted: PeerPresence.Version?
  /// The last one that went out, which is not sent again however often the peer asks.
  private var sent = PeerPresence.Version.none

  // MARK: - The other peer's

  private var isObserving = false
  /// Whether the peer may answer: it has been asked.
  private var isOwed = false
  private var received = PeerPresence.Version.none
  /// When it is asked again.
  private(set) var asksAt: Duration?

  /// How long after an answer the peer is asked again.
  static let interval = Duration.milliseconds(500)

  init(_ context: SessionContext) { self.context = context }

  /// Takes what is told of this peer from now on.
  func tell(_ own: SignedPresence) {
    self.own = own
    answer()
  }

  /// Begins or ends to ask the peer about itself.
  func observe(_ observes: Bool) {
    guard observes != isObserving else { return }
    isObserving = observes
    if observes { return ask() }
    asksAt = nil
    context.send(.presenceWanted) { $0.write(0) }
  }

  /// Asks for what is newer than what has come.
  private func ask() {
    asksAt = nil
    isOwed = true
    context.send(.presenceWanted) { out in
      out.write(1)
      out.writeVarint(received.start)
      out.writeVarint(received.number)
    }
  }

  /// Asks again where the time has come.
  func checkTime(_ now: Duration) {
    if let asksAt, now >= asksAt { ask() }
  }

  /// Takes the peer's wish.
  func take(wanted: PeerPresence.Version?) {
    self.wanted = wanted
    answer()
  }

  private func answer() {
    guard let wanted, let own, own.presence.version > max(wanted, sent) else { return }
    self.wanted = nil
    sent = own.presence.version
    context.send(.presence) { own.encode(to: &$0) }
  }

  /// Takes what the peer says of itself.
  func take(_ signed: SignedPresence) throws(SyncError) {
    guard isOwed else { throw SyncError(.outOfOrder, "The peer tells of itself unasked") }
    isOwed = false
    guard signed.presence.version > received else {
      throw SyncError(.malformed, "What the peer tells of itself is older than what it has told")
    }
    guard signed.presence.site == context.peer?.site else {
      throw SyncError(.malformed, "The peer tells of another one as if of itself")
    }
    received = signed.presence.version
    context.ask(.presence(signed))
    if isObserving { asksAt = context.now + Self.interval }
  }
}
