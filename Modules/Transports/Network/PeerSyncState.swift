import CRDTCore
import Links
import NIOConcurrencyHelpers
package import SyncProtocol

/// The progress of sync with one peer, over one connection.
package struct PeerSyncState: Sendable {
  /// The connection, whose peer is known; it may be over.
  package let connection: PeerConnection
  package let peer: PeerInfo
  /// Whether the connection still exists.
  package fileprivate(set) var isConnected = true
  /// The state of what is sent to the peer.
  package fileprivate(set) var delivery: PeerDelivery
  /// Whether everything that the peer had for the subscriptions is stored here.
  ///
  /// It is `false` while the peer holds something back.
  package let hasAll: Bool
  /// The number of the newest set of subscriptions for which everything that the peer had is stored here.
  package let caughtUpNumber: UInt64

  /// Makes the sync state of a session.
  ///
  /// - Returns: `nil` before the peers have met.
  init?(_ session: borrowing NetworkState.Session) {
    guard let peer = session.connection.peer else { return nil }
    let figures = session.driver.figures.withLockedValue { $0 }
    var connection = session.connection
    connection.statistics = figures.statistics
    connection.progress = figures.progress
    self.connection = connection
    self.peer = peer
    delivery = figures.delivery
    hasAll = figures.hasAll
    caughtUpNumber = figures.caughtUpNumber
  }

  /// The sync state after the connection ended.
  ///
  /// It keeps the peer's interest if that has at most so many bytes.
  fileprivate func departed(interestBytes: Int) -> PeerSyncState {
    var standing = self
    standing.isConnected = false
    standing.delivery = delivery.kept(atMost: interestBytes)
    return standing
  }
}

/// The progress of sync with the latest peers when they left, from the network's start to its stop.
///
/// What a peer had then it still has, whatever happened to the connection. The peers' interests are bounded
/// in bytes. Those of the peers that left first are dropped first.
package struct DepartedPeers {
  private static let limit = 256
  /// The maximum bytes of the interests of all of them, and a quarter of it for each.
  package static let interestBytes = 256 << 10

  private var standings: [SiteID: PeerSyncState] = [:]
  private var order: [SiteID] = []

  var all: [PeerSyncState] { order.compactMap { standings[$0] } }

  mutating func insert(_ standing: PeerSyncState) {
    let site = standing.peer.site
    order.removeAll { $0 == site }
    order.append(site)
    standings[site] = standing.departed(interestBytes: Self.interestBytes / 4)
    if order.count > Self.limit { standings[order.removeFirst()] = nil }
    var total = standings.values.reduce(0) { $0 + $1.delivery.interestBytes }
    for site in order where total > Self.interestBytes {
      guard let former = standings[site] else { continue }
      total -= former.delivery.interestBytes
      standings[site] = former.departed(interestBytes: 0)
    }
  }

  mutating func removeAll() { self = DepartedPeers() }
}

extension PeerNetwork {
  /// The progress of sync with each peer over each connection; ended connections first, then by age.
  package var standings: [PeerSyncState] {
    state.withLockedValue { state in
      state.departed.all
        + state.sessions.sorted { $0.key < $1.key }.compactMap { PeerSyncState($0.value) }
    }
  }

  /// The number of the newest set of subscriptions.
  package var subscriptionsNumber: UInt64 { state.withLockedValue { $0.subscriptionsNumber } }

  /// One element at once, and one whenever ``standings`` may have changed; ends when the network closes.
  package func statusCalls() -> AsyncStream<Void> { setup.bell.calls() }

  /// Wakes the listeners of `statusCalls` after a change outside the network.
  package func statusChanged() { setup.bell.ring() }

  /// Waits, by the network's clock.
  ///
  /// - Throws: `CancellationError` when the task is cancelled.
  package func sleep(for duration: Duration) async throws { try await setup.clock.sleep(for: duration) }
}
