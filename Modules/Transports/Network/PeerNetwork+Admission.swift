import CRDTCore
import DocStore
import Links
import NIOConcurrencyHelpers
import SyncProtocol

/// Decides which sessions are admitted.
extension PeerNetwork: SessionHost {
  func met(_ peer: PeerInfo, in session: UInt64) {
    guard learnAccess(of: session) else { return }
    if !inquire(about: peer, in: session) { decide(on: peer, in: session) }
  }

  /// Decides about a peer that the application has accepted.
  func decide(on peer: PeerInfo, in session: UInt64) {
    // If the store fails, the session is ended elsewhere.
    let hasWritesOf = (try? setup.store.read { try $0.highestReading(of: peer.site) }) ?? nil
    carryOut { state, own, now in
      state.sessions[session]?.served.met(peer.site)
      state.sessions[session]?.isKnown = hasWritesOf != nil || state.knownPeers.contains(peer.site)
      return state.decide(on: session, with: peer, own: own, now: now)
    }
  }

  func heard(_ isAlive: Bool, in session: UInt64) {
    carryOut { state, own, now in state.heard(isAlive, in: session, own: own, now: now) }
  }

  func over(_ session: UInt64) {
    carryOut { state, own, now in state.over(session, own: own, now: now) }
  }

  private func carryOut(
    _ decide: (inout NetworkState, _ own: SiteID, _ now: Duration) -> [NetworkState.AdmissionStep]
  ) {
    let (own, now) = (setup.store.site, setup.clock.now)
    for step in state.withLockedValue({ decide(&$0, own, now) }) {
      switch step {
      case .admit(let driver):
        driver.link.admitted()
        driver.admit(state.withLockedValue { $0.sessions[driver.id]?.access } ?? .nothing)
      case .hold(let driver): driver.link.admitted()
      case .close(let driver, let reason): driver.close(reason)
      case .askForSignOfLife(let driver): driver.askForSignOfLife(within: options.limits.signOfLife)
      }
    }
  }
}
