import CRDTCore
import Foundation
import QueryEngine
import Transports

extension Engine {
  /// Gives the engine what its virtual collections show of the sync layers above it.
  func show(_ network: PeerNetwork, _ subscriptions: SubscriptionRegistry) {
    providers.provideConnections { [weak network] in
      guard let network else { return [] }
      let now = (date: Date(), moment: network.now)
      return network.connections.map { $0.row(now) }
    }
    providers.provideFacts { [weak subscriptions] in
      [
        [
          "namespace": .string("sync"), "key": .string("local_subscriptions"),
          "value": .array((subscriptions?.active ?? []).map { .string($0.queryText) }),
        ]
      ]
    }
  }
}
