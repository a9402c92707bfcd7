import DunlinKit
import DunlinTesting
import Foundation
import Synchronization

/// Two devices that are apart until a test lets them meet; their common clock moves on with each reading.
///
/// So of two writes the one that comes second in a test is later everywhere.
struct TwoDevices {
  let first: TestDatabase
  let second: TestDatabase
  private let subscriptions: [DunlinSubscription]

  /// Makes both, with subscriptions to all documents of some collections.
  init(
    _ first: String = "tablet", _ second: String = "phone", collections: [String] = ["orders"]
  ) throws {
    let reading = Mutex(0.0)
    var configuration = DunlinConfiguration()
    configuration.clock = {
      Date(
        timeIntervalSince1970: 1_893_499_200
          + reading.withLock { reading in
            reading += 0.001
            return reading
          })
    }
    self.first = try TestDatabase(first, configuration: configuration)
    self.second = try TestDatabase(second, configuration: configuration)
    var subscriptions: [DunlinSubscription] = []
    for database in [self.first, self.second] {
      for collection in collections {
        subscriptions.append(
          try database.dunlin.sync.registerSubscription(query: "SELECT * FROM \(collection)"))
      }
    }
    self.subscriptions = subscriptions
  }

  /// Connects both, waits until each has all of the other, and cuts the connection.
  func meet() async throws {
    let connection = try first.connect(to: second)
    for dunlin in [first.dunlin, second.dunlin] {
      for await graph in dunlin.presence.graphs {
        guard let peer = graph.remotePeers.first(where: { !$0.connections.isEmpty }) else { continue }
        try await dunlin.sync.waitUntilInSync(with: peer, timeout: .seconds(60))
        break
      }
    }
    connection.cut()
    // The next connection is not to be taken for this one.
    for await graph in first.dunlin.presence.graphs
    where graph.remotePeers.allSatisfy(\.connections.isEmpty) { break }
  }

  /// Cancels the subscriptions, which would be logged otherwise.
  func end() { for subscription in subscriptions { subscription.cancel() } }
}
