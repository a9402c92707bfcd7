import CRDTCore
import NIOConcurrencyHelpers
package import SyncProtocol

/// How far sync with one peer has come, over one connection.
package struct PeerStanding: Sendable {
  /// The connection, whose peer is known; it may be over.
  package let connection: PeerConnection
  package let peer: PeerInfo
  /// Whether the connection is there.
  package fileprivate(set) var isConnected = true
  /// What goes to the peer.
  package fileprivate(set) var delivery: PeerDelivery
  /// Whether all that the peer had for the subscriptions is here, and nothing is kept back there.
  package let hasAll: Bool
  /// The newest set of subscriptions for which all that the peer had is here, by its number.
  package let caughtUpNumber: UInt64

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

  /// The same when the connection is over, with what the peer subscribed to where it takes at most so many bytes.
  fileprivate func departed(interestBytes: Int) -> PeerStanding {
    var standing = self
    standing.isConnected = false
    standing.delivery = delivery.kept(atMost: interestBytes)
    return standing
  }
}

/// How far sync had come with peers when they left, the latest so many, from the network's start to its stop.
///
/// What a peer had then it has, whatever becomes of the connection. What they subscribed to is bounded in bytes: that of
/// those who left first is forgotten first.
package struct DepartedPeers {
  private static let limit = 256
  /// Bytes of what all of them subscribed to, and a quarter of it for each.
  package static let interestBytes = 256 << 10

  private var standings: [SiteID: PeerStanding] = [:]
  private var order: [SiteID] = []

  var all: [PeerStanding] { order.compactMap { standings[$0] } }

  mutating func insert(_ standing: PeerStanding) {
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
  /// How far sync with each peer has come over each connection, by age; those that are over come first.
  package var standings: [PeerStanding] {
    state.withLockedValue { state in
      state.departed.all
        + state.sessions.sorted { $0.key < $1.key }.compactMap { PeerStanding($0.value) }
    }
  }

  /// The number of the newest set of subscriptions.
  package var subscriptionsNumber: UInt64 { state.withLockedValue { $0.subscriptionsNumber } }

  /// A call at once, and one whenever ``standings`` may have changed; it ends when the network closes.
  package func statusCalls() -> AsyncStream<Void> { setup.bell.calls() }

  /// Wakes those who wait for something beside the network that has changed.
  package func statusChanged() { setup.bell.ring() }

  /// Waits, by the clock that the network goes by.
  ///
  /// - Throws: `CancellationError` when the task is cancelled.
  package func sleep(for duration: Duration) async throws { try await setup.clock.sleep(for: duration) }
}
