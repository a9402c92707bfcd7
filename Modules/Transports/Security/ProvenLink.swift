import CRDTCore

/// A link whose peer must prove its identity before anything that it sends is processed.
protocol ProvenLink: Link {
  /// The peer's proved identity; `nil` until it has proved it.
  var provenPeer: ProvenPeer? { get }
}

/// What a peer has proved.
struct ProvenPeer: Hashable, Sendable {
  let identity: PeerIdentity
  /// The site that the peer's store writes as.
  let site: SiteID
  /// A random number that identifies its process.
  let instance: UInt64
}
