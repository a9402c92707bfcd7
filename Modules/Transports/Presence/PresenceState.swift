import CRDTCore
import SyncProtocol

/// What a network knows of who is there, behind its lock.
struct PresenceState {
  /// Whoever wants to know what neighbours say of themselves.
  var observers: Set<UInt64> = []
  /// When this network's process began to take part, in milliseconds since 1970.
  let start: UInt64
  /// How many states of this peer were told.
  var number: UInt64 = 0
  /// What its application wants others to know.
  var metadata: [TextKey: Value] = [:]
  /// The state that is told now.
  var own: SignedPresence?
  /// Whether a change waits for others to go out with it.
  var isGathering = false
  /// Those who left a moment ago, with the number of the session that ended.
  private(set) var departed: [SiteID: (neighbour: Neighbour, session: UInt64)] = [:]

  /// So many of those are kept: who comes and goes as another one each time takes no more room than that.
  static let departedPeers = 256

  mutating func left(_ neighbour: Neighbour, in session: UInt64) {
    if departed.count >= Self.departedPeers,
      let oldest = departed.min(by: { $0.value.session < $1.value.session })
    {
      departed[oldest.key] = nil
    }
    departed[neighbour.id] = (neighbour.departed, session)
  }

  mutating func returned(_ site: SiteID) { departed[site] = nil }

  /// Forgets who left in a session, unless it has come back since.
  ///
  /// - Returns: Whether it was still waited for.
  mutating func forget(_ site: SiteID, from session: UInt64) -> Bool {
    guard departed[site]?.session == session else { return false }
    departed[site] = nil
    return true
  }

  mutating func forgetAll() { departed = [:] }
}

extension NetworkState {
  /// The peers that are connected or left a moment ago, by their sites.
  var neighbours: [Neighbour] {
    let connections = sessions.values.map(\.current).filter { $0.peer != nil }.sorted { $0.id < $1.id }
    let present = Dictionary(grouping: connections) { $0.peer?.site }.values.compactMap { Neighbour($0) }
    return (present + presence.departed.values.map(\.neighbour)).sorted { $0.id < $1.id }
  }

  /// Whether this peer is a big one, or is connected to one.
  func reachesBigPeer(_ own: PeerKind) -> Bool {
    own == .big || sessions.values.contains { $0.connection.peer?.kind == .big }
  }
}
