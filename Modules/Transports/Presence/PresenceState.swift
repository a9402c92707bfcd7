import CRDTCore
import SyncProtocol

/// The presence state of a network, protected by its lock.
struct PresenceState {
  /// The running observations of the neighbours' presence.
  var observers: Set<UInt64> = []
  /// When this network's process started, in milliseconds since 1970.
  let start: UInt64
  /// How many states of this peer were sent.
  var number: UInt64 = 0
  /// The metadata that the application wants others to know.
  var metadata: [TextKey: Value] = [:]
  /// The state that is sent now.
  var own: SignedPresence?
  /// Whether a change waits for others to be sent with it.
  var isGathering = false
  /// The peers that left a moment ago.
  private(set) var departed: [SiteID: Departed] = [:]
  /// Whether a task waits to drop the first of them.
  var isForgetting = false

  /// A peer that left, and until when it counts as a neighbour.
  struct Departed {
    let neighbour: Neighbour
    let until: Duration
  }

  /// How many of those are kept.
  ///
  /// It bounds the memory for a peer that comes back as another one each time.
  static let departedPeers = 256

  /// Records that a peer has left; if too many have, drops the one that left first.
  mutating func left(_ neighbour: Neighbour, until: Duration) {
    if departed.count >= Self.departedPeers, let first = departed.min(by: { $0.value.until < $1.value.until })
    {
      departed[first.key] = nil
    }
    departed[neighbour.id] = Departed(neighbour: neighbour.departed, until: until)
  }

  /// Records that a peer is back.
  mutating func returned(_ site: SiteID) { departed[site] = nil }

  /// When the next departed peer is to be dropped.
  var nextForgotten: Duration? { departed.values.map(\.until).min() }

  /// Drops the peers that have not come back in time.
  ///
  /// - Returns: The dropped peers.
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
