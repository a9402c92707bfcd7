import CRDTCore
import DocStore
import Links
import Logging
import NIOConcurrencyHelpers
package import SyncProtocol

/// The peers whose wall clocks are known, to judge a store whose clock has run ahead.
///
/// From inside, a clock that was ahead once and one that is behind now look the same. Peers resolve this. If
/// two of them, or one big peer, agree with this device's wall clock, that is right, and the store's clock
/// was wrong.
package struct ClockJury: Sendable {
  /// The largest difference between clocks that agree.
  package static let tolerance = HybridClock.maximumLead
  /// How many peers must agree.
  static let quorum = 2
  /// The shortest time between two restarts of the store's clock.
  static let shortestInterval: Duration = .seconds(3_600)
  /// How many peers are remembered.
  private static let limit = 64

  private struct Witness {
    let isBig: Bool
    /// The peer's wall clock at the zero of this network's clock.
    let origin: Duration
  }

  private var witnesses: [SiteID: Witness] = [:]
  private var lastVerdict: Duration?

  package init() {}

  /// Records a peer's wall clock.
  ///
  /// - Parameters:
  ///   - peer: The peer.
  ///   - wallTime: Its wall clock in milliseconds since 1970, as it has just sent it.
  ///   - now: The time of this network's clock, which nobody sets.
  package mutating func hear(_ peer: PeerInfo, wallTime: UInt64, at now: Duration) {
    if witnesses.count >= Self.limit, witnesses[peer.site] == nil { witnesses.removeAll() }
    witnesses[peer.site] = Witness(
      isBig: peer.kind == .big, origin: .milliseconds(Int64(clamping: wallTime)) - now)
  }

  /// Whether enough peers agree with the wall clock; at most once an hour.
  ///
  /// - Parameters:
  ///   - wallTime: The wall clock in milliseconds since 1970.
  ///   - now: The time of this network's clock.
  /// - Returns: Whether the store's clock must be restarted.
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
  /// Restarts the store's clock if it is ahead and peers agree that the wall clock is right.
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
