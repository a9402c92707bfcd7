import DunlinKit
import TestKit
import Testing

/// What may be subscribed to, and the system parameter that admits more.
@Suite(.timeLimit(.minutes(15))) struct SubscriptionRulesTests {
  let peer: Peer

  init() throws { peer = try Peer() }

  private func isAccepted(_ query: String) -> Bool {
    do {
      try peer.dunlin.sync.registerSubscription(query: query).cancel()
      return true
    } catch {
      #expect((error as? DunlinError)?.code == .unsupported, "\(error)")
      return false
    }
  }

  @Test func `order and limit of subscriptions are admitted while the parameter says so`() async throws {
    let ordered = "SELECT * FROM orders ORDER BY total LIMIT 5"
    #expect(!isAccepted(ordered))
    try await peer.store.execute(query: "ALTER SYSTEM SET DQL_RESTRICT_SUBSCRIPTIONS = false")
    #expect(isAccepted(ordered))
    #expect(!isAccepted("SELECT _id FROM orders"))
    #expect(!isAccepted("SELECT DISTINCT * FROM orders LIMIT 5"))
    try await peer.store.execute(query: "ALTER SYSTEM RESET dql_restrict_subscriptions")
    #expect(!isAccepted(ordered))
    #expect(isAccepted("SELECT * FROM orders WHERE total > 5"))
  }
}
