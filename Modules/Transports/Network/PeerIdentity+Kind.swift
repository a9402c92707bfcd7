package import Links
package import SyncProtocol

extension PeerIdentity {
  /// The kind of peer that the certificate says; `nil` with a shared key, which proves none.
  package var provenKind: PeerKind? {
    switch proof {
    case .sharedKey: nil
    case .certificate, .online: isBigPeer ? .big : .small
    }
  }
}
