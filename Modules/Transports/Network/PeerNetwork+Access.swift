import Links
import NIOConcurrencyHelpers
import SyncProtocol

/// Why a peer with a grant is not admitted: this peer cannot enforce what the grant says.
package struct GrantRefusal: Error, Hashable {
  /// One sentence without a full stop, which the other peer is told.
  package let reason: String

  package init(_ reason: String) { self.reason = reason }
}

/// What the grants in the certificates of peers let them do.
extension PeerNetwork {
  /// Records what the grant of a session's peer lets it do, before the peer is admitted.
  ///
  /// - Returns: `false` when this peer cannot enforce the grant; then the session ends with the reason.
  func learnAccess(of session: UInt64) -> Bool {
    guard let known = state.withLockedValue({ $0.sessions[session] }) else { return true }
    let access: PeerAccess
    do throws(GrantRefusal) {
      access = try self.access(of: known.provenPeer)
    } catch {
      known.driver.close(
        SyncError(.denied, "The grant of this peer's certificate counts nothing: \(error.reason)"))
      return false
    }
    state.withLockedValue { $0.sessions[session]?.access = access }
    return true
  }

  private func access(of peer: ProvenPeer?) throws(GrantRefusal) -> PeerAccess {
    guard let peer, let hash = peer.identity.grantHash else { return .everything }
    guard let grant = peer.grant else { throw GrantRefusal("its text \(hash) is not known here") }
    guard let access = options.access else { throw GrantRefusal("the other peer enforces no grants") }
    return try access(grant, peer.identity)
  }
}
