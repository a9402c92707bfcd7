import CRDTCore

/// A link whose peer has to prove who it is before anything that it says is looked at.
protocol ProvenLink: Link {
  /// Who the peer is; `nil` until it has proved that.
  var provenPeer: ProvenPeer? { get }
}

/// What a peer has proved.
struct ProvenPeer: Hashable, Sendable {
  let identity: PeerIdentity
  /// The site that its store writes as.
  let site: SiteID
  /// A random number of its process.
  let instance: UInt64
}
