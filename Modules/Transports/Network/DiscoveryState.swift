import CRDTCore
import Links

/// A network's discovery state, protected by its lock.
struct DiscoveryState {
  /// A port to which neighbours connect.
  struct Listener: Hashable, Sendable {
    let port: Int
    let isIPv4Only: Bool
    /// Whether it was opened for neighbours, and is closed when discovery stops.
    let isOwn: Bool
  }

  /// The values that must be advertised again when they change.
  struct Terms: Hashable, Sendable {
    /// Distinguishes one call of `discover` from the next.
    let id: UInt64
    let listener: Listener
    let site: SiteID
    /// Counts the credentials that the network has had.
    let credentials: Int
  }

  let id: UInt64
  let discovery: any PeerDiscovery
  /// The running session of discovery.
  var session: (any DiscoverySession)?
  /// The group in which neighbours are found.
  let group: UInt32
  /// The host to listen on; `nil` for every network of this machine.
  let host: String?
  /// The port, 0 for any free one.
  let port: Int
  var listener: Listener?
  /// The secret by which neighbours recognize each other, as it is advertised.
  var secret: DiscoverySecret?

  init(id: UInt64, _ discovery: any PeerDiscovery, group: UInt32, host: String?, port: Int) {
    self.id = id
    self.discovery = discovery
    self.group = group
    self.host = host
    self.port = port
  }

  /// The values to advertise.
  ///
  /// - Parameters:
  ///   - site: The store's site.
  ///   - credentials: The number of the network's credentials.
  /// - Returns: `nil` while nothing listens.
  func terms(_ site: SiteID, credentials: Int) -> Terms? {
    listener.map { Terms(id: id, listener: $0, site: site, credentials: credentials) }
  }
}

/// The parts that report conditions.
///
/// Each reports all of its own.
enum ConditionSource: Hashable, Sendable {
  case discovery
  case dialing
  case listening
}
