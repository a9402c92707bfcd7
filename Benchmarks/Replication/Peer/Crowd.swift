import BenchmarkSupport
import Foundation
import QueryEngine
import Synchronization
import Transports

/// Many peers in one process, each with a store and a network of its own.
final class Crowd: PeerService {
  private let path: String
  private let isSecure: Bool
  private let peers = Mutex<[Peer]>([])

  init(path: String, isSecure: Bool = false) {
    self.path = path
    self.isSecure = isSecure
  }

  func close() async {
    for peer in peers.withLock({ $0 }) { await peer.close() }
  }

  func answer(_ request: Request, ready: @Sendable () -> Void) async throws -> Reply {
    var reply = Reply()
    switch request {
    case .open, .quit: break
    case .join(let count, let collection, let port, let documents):
      reply.times = [try await join(count, collection, port, documents)]
    case .wait(let collection, let changes):
      for peer in peers.withLock({ $0 }) {
        reply.times.append(
          try await peer.arrivals.wait(for: changes, in: collection, deadline: .seconds(600)))
      }
    case .state:
      reply.figures = ["cpuSeconds": Measures.cpuSeconds, "anonymousBytes": Measures.anonymousBytes]
    case .listen, .load, .pull, .subscribe, .meet, .part, .mark, .observe, .commitOneByOne, .updateField,
      .writeLarge, .holds, .scan:
      throw BenchmarkError("a crowd has no answer to this")
    }
    return reply
  }

  /// - Returns: When the last of them held all.
  private func join(_ count: Int, _ collection: String, _ port: Int, _ documents: Int) async throws -> Double
  {
    let joined = try (0..<count).map { try Peer(path: "\(path)-\($0)", name: "peer", isSecure: isSecure) }
    peers.withLock { $0 = joined }
    for peer in joined {
      peer.network.subscribe(to: [try SubscriptionQuery(dql: "SELECT * FROM \(collection)")])
      try await peer.connect(port: port, route: .tcp)
    }
    var last = 0.0
    for peer in joined {
      last = max(last, try await peer.arrivals.wait(for: documents, in: collection, deadline: .seconds(600)))
    }
    return last
  }
}
