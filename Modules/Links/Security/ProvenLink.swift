package import CRDTCore

/// A link whose peer must prove its identity before anything that it sends is processed.
package protocol ProvenLink: Link {
  /// The peer's proved identity; `nil` until it has proved it.
  var provenPeer: ProvenPeer? { get }

  /// Ends the link if the peer was revoked.
  ///
  /// It has no effect before the peer has proved its identity.
  func endIfRevoked()
}

/// What a peer has proved.
package struct ProvenPeer: Hashable, Sendable {
  package let identity: PeerIdentity
  /// The site that the peer's store writes as.
  package let site: SiteID
  /// A random number that identifies its process.
  package let instance: UInt64
  /// The texts of its grant, verified by the hash in its certificate; `nil` for a certificate without one.
  package var grant: GrantTexts?
}
