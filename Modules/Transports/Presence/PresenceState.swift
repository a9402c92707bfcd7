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
  /// The peers that left a moment ago.
  private(set) var departed: [SiteID: Departed] = [:]
  /// Whether a task waits for the moment at which the first of them is forgotten.
  var isForgetting = false

  /// A peer that left, and until when it counts among the neighbours.
  struct Departed {
    let neighbour: Neighbour
    let until: Duration
  }

  /// So many of those are kept: who comes and goes as another one each time takes no more room than that.
  static let departedPeers = 256

  /// Takes that a peer has left; where too many have, the one that left first is forgotten.
  mutating func left(_ neighbour: Neighbour, until: Duration) {
    if departed.count >= Self.departedPeers, let first = departed.min(by: { $0.value.until < $1.value.until })
    {
      departed[first.key] = nil
    }
    departed[neighbour.id] = Departed(neighbour: neighbour.departed, until: until)
  }

  /// Takes that a peer is back.
  mutating func returned(_ site: SiteID) { departed[site] = nil }

  /// When the first peer is to be forgotten that has left.
  var nextForgotten: Duration? { departed.values.map(\.until).min() }

  /// Forgets the peers that have not come back in time.
  ///
  /// - Returns: Who they are.
  mutating func forget(now: Duration) -> [Neighbour] {
    let gone = departed.values.filter { $0.until <= now }.map(\.neighbour)
    for neighbour in gone { departed[neighbour.id] = nil }
    return gone
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
