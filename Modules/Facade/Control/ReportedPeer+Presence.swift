import CRDTCore
package import DunlinControl
import SyncProtocol
package import Transports

extension ReportedPeer {
  /// A peer of the presence graph.
  ///
  /// - Parameters:
  ///   - peer: The peer.
  ///   - standings: The progress of sync over its connections, as far as it is known.
  package init(_ peer: DunlinPeer, _ standings: [PeerSyncState] = []) {
    let links = Dictionary(standings.map { ($0.connection.id, $0) }) { $1 }
    self.init(
      id: peer.id, name: peer.deviceName, kind: "\(peer.kind)", system: peer.system, version: peer.version,
      user: peer.user, key: peer.peerKey, reachesBigPeer: peer.isConnectedToBigPeer,
      connections: peer.connections.map { connection in
        ReportedConnection(
          kind: connection.kind, address: connection.address,
          progress: links[connection.id].map { ReportedConnection.Progress($0) })
      }, metadata: peer.exactMetadata, identityMetadata: peer.exactIdentityMetadata)
  }
}

extension ReportedConnection.Progress {
  fileprivate init(_ standing: PeerSyncState) {
    let (statistics, progress) = (standing.connection.statistics, standing.connection.progress)
    self.init(
      bytesSent: statistics.bytesSent, bytesReceived: statistics.bytesReceived,
      documentsSent: statistics.documentsSent, documentsReceived: statistics.documentsReceived,
      isCaughtUp: standing.hasAll, servedSequence: standing.delivery.servedSequence,
      pullsNothing: standing.delivery.pullsNothing, hasUnreadable: progress.isAnythingUnreadable,
      hasWithheld: progress.isAnythingWithheld)
  }
}
