import CRDTCore

/// What a network knows of its discovery, behind its lock.
struct DiscoveryState {
  /// Where neighbours connect to.
  struct Listener: Hashable, Sendable {
    let port: Int
    let isIPv4Only: Bool
    /// Whether it was opened for neighbours, and is closed when nobody looks for them any more.
    let isOwn: Bool
  }

  /// What has to be advertised anew when it changes.
  struct Terms: Hashable, Sendable {
    /// Tells one call of `discover` from the next.
    let id: UInt64
    let listener: Listener
    let site: SiteID
    /// Counts the credentials that the network has had.
    let credentials: Int
  }

  let id: UInt64
  let discovery: any PeerDiscovery
  /// What runs of it.
  var session: (any DiscoverySession)?
  /// Among whose members neighbours are found.
  let group: UInt32
  /// Where to listen; `nil` for every network of this machine.
  let host: String?
  /// The port, 0 for any free one.
  let port: Int
  var listener: Listener?
  /// What neighbours know each other by, as it is advertised.
  var secret: DiscoverySecret?

  init(id: UInt64, _ discovery: any PeerDiscovery, group: UInt32, host: String?, port: Int) {
    self.id = id
    self.discovery = discovery
    self.group = group
    self.host = host
    self.port = port
  }

  /// What is to be advertised.
  ///
  /// - Parameters:
  ///   - site: The store's.
  ///   - credentials: The number of the network's credentials.
  /// - Returns: `nil` while nothing listens.
  func terms(_ site: SiteID, credentials: Int) -> Terms? {
    listener.map { Terms(id: id, listener: $0, site: site, credentials: credentials) }
  }
}

/// Who has set conditions, each of whom knows all its own.
enum ConditionSource: Hashable, Sendable {
  case discovery
  case dialing
  case listening
}
