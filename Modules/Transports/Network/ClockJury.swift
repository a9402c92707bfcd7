import CRDTCore
import DocStore
import Logging
import NIOConcurrencyHelpers
package import SyncProtocol

/// Those peers whose wall clocks are known, for a store whose clock has run ahead.
///
/// From inside, a clock that was ahead once and one that is behind now look the same. Peers tell them apart: where two of them, or
/// one big peer, agree with this device's wall clock, that is right, and the store's clock was wrong.
package struct ClockJury: Sendable {
  /// Clocks agree that are not further apart.
  package static let tolerance = HybridClock.maximumLead
  /// So many peers have to agree.
  static let quorum = 2
  /// Not more often does a clock begin anew.
  static let shortestInterval: Duration = .seconds(3_600)
  /// So many peers are remembered.
  private static let limit = 64

  private struct Witness {
    let isBig: Bool
    /// The peer's wall clock at the zero of this network's clock.
    let origin: Duration
  }

  private var witnesses: [SiteID: Witness] = [:]
  private var lastVerdict: Duration?

  package init() {}

  /// Takes note of a peer's wall clock.
  ///
  /// - Parameters:
  ///   - peer: The peer.
  ///   - wallTime: Its wall clock in milliseconds since 1970, as it has just told it.
  ///   - now: The time of this network's clock, which nobody sets.
  package mutating func hear(_ peer: PeerInfo, wallTime: UInt64, at now: Duration) {
    if witnesses.count >= Self.limit, witnesses[peer.site] == nil { witnesses.removeAll() }
    witnesses[peer.site] = Witness(
      isBig: peer.kind == .big, origin: .milliseconds(Int64(clamping: wallTime)) - now)
  }

  /// Whether enough peers agree with the wall clock; not again within an hour.
  ///
  /// - Parameters:
  ///   - wallTime: The wall clock in milliseconds since 1970.
  ///   - now: The time of this network's clock.
  /// - Returns: Whether the store's clock is to begin anew.
  package mutating func finds(_ wallTime: UInt64, at now: Duration) -> Bool {
    if let lastVerdict, now - lastVerdict < Self.shortestInterval { return false }
    let origin = .milliseconds(Int64(clamping: wallTime)) - now
    let agreeing = witnesses.values.filter {
      $0.origin - origin <= Self.tolerance && origin - $0.origin <= Self.tolerance
    }
    guard agreeing.count >= Self.quorum || agreeing.contains(where: \.isBig) else { return false }
    lastVerdict = now
    return true
  }
}

extension PeerNetwork {
  /// Has the store's clock begin anew where it is ahead and peers agree that the wall clock is right.
  func judgeClock(by peer: PeerInfo, wallTime told: UInt64) {
    let now = setup.clock.now
    state.withLockedValue { $0.clockJury.hear(peer, wallTime: told, at: now) }
    guard let lead = try? setup.store.clockLead(), lead > ClockJury.tolerance else { return }
    let wallTime = setup.store.wallTime
    guard state.withLockedValue({ $0.clockJury.finds(wallTime, at: now) }) else { return }
    spawn { network in
      do {
        try await network.setup.store.trustClock()
      } catch {
        network.options.logger.error("The store's clock could not begin anew: \(error)")
      }
    }
  }
}
