import Links
import Logging
import NIOConcurrencyHelpers
import SyncProtocol

/// The exchange of revocation lists with neighbours.
extension PeerNetwork {
  /// Processes a message of a session's peer; without certificates, it has no effect.
  func heard(revocations message: [UInt8], in session: UInt64) {
    #if TLS
      guard let driver = state.withLockedValue({ $0.sessions[session]?.driver }),
        (driver.link as? any ProvenLink)?.provenPeer != nil
      else { return }
      do throws(LinkError) {
        let change = try revocations.receive(message, in: session, now: setup.clock.now)
        for reply in change.replies { driver.tell(revocations: reply) }
        carryOut(change)
      } catch {
        driver.close(SyncError(.malformed, error.message))
      }
    #endif
  }

  /// Tells all neighbours again and again which lists are held here, as long as the network runs.
  ///
  /// A neighbour may have to hear of a list or of an equal one within some time, however long its session
  /// lasts.
  func repeatRevocations() {
    #if TLS
      guard options.requiresProof else { return }
      let interval = options.revocationInterval
      spawn(isTimer: true) { network in
        while (try? await network.setup.clock.sleep(for: interval)) != nil {
          if !network.isHeld { network.tellNeighbours { network.revocations.heads } }
        }
      }
    #endif
  }

  #if TLS
    /// Adds what is called with each change of the revocation lists, from now on.
    ///
    /// It is called on a session's thread, and must be quick.
    package func onRevocations(_ handler: @escaping @Sendable (RevocationLists.Change) -> Void) {
      state.withLockedValue { $0.revocationHandlers.append(handler) }
    }

    /// Adds a revocation list, which takes effect at once and spreads to all neighbours.
    ///
    /// - Parameter list: The list.
    /// - Returns: What has changed; nothing for a list that is not newer.
    /// - Throws: `credentials`, `untrusted` or `limit`; then nothing has changed.
    @discardableResult
    package func addRevocations(_ list: RevocationList) throws(LinkError) -> RevocationLists.Change {
      let change = try revocations.add(list)
      carryOut(change)
      return change
    }

    /// Ends the sessions of those who are revoked, and tells all others of the new heads.
    private func carryOut(_ change: RevocationLists.Change) {
      for handler in state.withLockedValue({ $0.revocationHandlers }) { handler(change) }
      for held in change.changed {
        options.logger.notice(
          "Revocation list \(held.list.head.number) of the authority \(held.issuer) has taken effect",
          metadata: ["entries": "\(held.list.head.count)", "kept": "\(held.kept.count)"])
      }
      if let refused = change.refused {
        options.logger.error(
          "Revocation list \(refused.number) of the authority \(refused.issuer) is refused: \(refused.error)")
      }
      guard !change.changed.isEmpty else { return }
      endRevoked()
      // A peer that is held confirms nothing to others.
      if !isHeld { tellNeighbours { revocations.heads } }
    }

    /// Sends a message to all neighbours.
    ///
    /// It is made under the lock, so that every session ends with the newest heads.
    func tellNeighbours(_ message: () -> [UInt8]?) {
      state.withLockedValue { state in
        guard let message = message() else { return }
        for session in state.sessions.values { session.driver.tell(revocations: message) }
      }
    }
  #endif
}
