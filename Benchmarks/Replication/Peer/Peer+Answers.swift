import BenchmarkSupport
import Foundation
import QueryEngine
import Transports

extension Peer: PeerService {
  func answer(_ request: Request, ready: @Sendable () -> Void) async throws -> Reply {
    var reply = Reply()
    let start = Measures.nanoseconds
    switch request {
    case .open, .quit: break
    case .join: throw BenchmarkError("a single peer cannot be many")
    case .listen(let isWebSocket):
      reply.figures["port"] = Double(try network.listen(over: isWebSocket ? .webSocket : .tcp) ?? 0)
    case .load(let path, let collection, let batch):
      reply.figures["documents"] = Double(try await load(path, into: collection, batch: batch))
    case .pull(let collection, let port, let route, let count):
      network.subscribe(to: [try SubscriptionQuery(dql: "SELECT * FROM \(collection)")])
      try await connect(port: port, route: route)
      let end = try await arrivals.wait(for: count, in: collection, deadline: .seconds(600))
      reply.figures["pullSeconds"] = (end - start) / 1e9
      let first = arrivals.time(of: min(100, count), in: collection) ?? end
      reply.figures["first100Seconds"] = (first - start) / 1e9
    case .subscribe(let collection):
      network.subscribe(to: [try SubscriptionQuery(dql: "SELECT * FROM \(collection)")])
    case .meet(let port): reply = try await meet(port)
    case .part(let port): try await part(port)
    case .mark(let collection): try await mark(collection)
    case .wait(let collection, let changes):
      reply.times = [try await arrivals.wait(for: changes, in: collection, deadline: .seconds(600))]
    case .observe, .commitOneByOne: throw BenchmarkError("an application's peer is asked for this")
    case .updateField(let collection, let field, let count, let perTransaction):
      reply.times = [
        try await updateField(field, of: collection, count: count, perTransaction: perTransaction)
      ]
    case .writeLarge(let id, let bytes): reply = try await writeLarge(id, canonicalBytes: bytes)
    case .holds(let collection, let id): reply.figures["holds"] = try holds(collection, id) ? 1 : 0
    case .scan(let collection, let predicate, let rounds):
      reply = try scan(collection, predicate, rounds: rounds)
    case .state(let collection): reply = try state(of: collection)
    }
    return reply
  }
}
