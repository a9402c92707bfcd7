import DocStore
import Links
import Logging
import NIOConcurrencyHelpers
import SyncProtocol

/// The reaction when another store turns out to write under this one's site.
extension PeerNetwork {
  /// The shortest time between two new sites at a peer's word.
  ///
  /// Each one costs everybody a site to remember.
  private static let shortestRenewal: Duration = .seconds(60)

  /// Gives the store a new site if a session ended because another store has the same.
  func renewSite(after end: SessionEnd) async {
    guard case .session(let error) = end, error.code == .cloned else { return }
    let now = setup.clock.now
    let isDue = state.withLockedValue { state in
      if let last = state.lastRenewal, now - last < Self.shortestRenewal { return false }
      state.lastRenewal = now
      return true
    }
    guard isDue else { return }
    do {
      try await setup.store.renewSite(.cloned)
    } catch {
      options.logger.error("The store could not take a new site: \(error)")
    }
  }

  /// Makes sure that no session continues with a site that the store no longer has.
  func followSite() {
    let listener = setup.store.onSiteChange { [weak self] _ in
      guard let self else { return }
      let sessions = state.withLockedValue { state in
        // The presence is about the former site.
        state.presence.own = nil
        return Array(state.sessions.values)
      }
      for session in sessions { session.driver.close() }
      // New sessions send the new presence; the running ones have met the former site.
      tellPresence(inRunningSessions: false)
      // Neighbours must learn an instance that belongs to the new site.
      candidateWake.signal()
    }
    state.withLockedValue { $0.siteListener = listener }
  }
}
