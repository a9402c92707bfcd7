import ArgumentParser
import BenchmarkSupport
import Foundation
import QueryEngine
import Transports

/// The process of one peer: reads requests from standard input and answers on standard output.
struct PeerCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "peer", shouldDisplay: false)

  func run() async throws {
    let parent = getppid()
    let watch = Task {
      while getppid() == parent { try await Task.sleep(for: .seconds(1)) }
      _exit(1)  // Whoever asked is gone, whatever is under way here.
    }
    defer { watch.cancel() }
    var peer: Peer?
    while let line = await nextLine() {
      let request = try JSONDecoder().decode(Request.self, from: Data(line.utf8))
      if case .quit = request { break }
      var reply: Reply
      do {
        reply = try await answer(request, &peer)
      } catch {
        reply = Reply(error: "\(error)")
      }
      try Self.say(reply)
    }
    await peer?.close()
  }

  private static func say(_ reply: Reply) throws {
    try FileHandle.standardOutput.write(contentsOf: try JSONEncoder().encode(reply) + [10])
  }

  private func nextLine() async -> String? {
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async { continuation.resume(returning: readLine()) }
    }
  }

  private func answer(_ request: Request, _ opened: inout Peer?) async throws -> Reply {
    if case .open(let path, let name) = request {
      opened = try Peer(path: path, name: name)
      return Reply()
    }
    guard let peer = opened else { throw BenchmarkError("the store is not open") }
    var reply = Reply()
    let start = Measures.nanoseconds
    switch request {
    case .open, .quit: break
    case .listen: reply.figures["port"] = Double(try peer.network.listen() ?? 0)
    case .load(let path, let collection, let batch):
      reply.figures["documents"] = Double(try await peer.load(path, into: collection, batch: batch))
    case .pull(let collection, let port, let slow, let count):
      peer.network.subscribe(to: [try SubscriptionQuery(dql: "SELECT * FROM \(collection)")])
      try await peer.connect(port: port, slow: slow)
      let end = try await peer.arrivals.wait(for: count, in: collection, deadline: .seconds(600))
      reply.figures["pullSeconds"] = (end - start) / 1e9
      let first = peer.arrivals.time(of: min(100, count), in: collection) ?? end
      reply.figures["first100Seconds"] = (first - start) / 1e9
    case .mark(let collection): try await peer.mark(collection)
    case .wait(let collection, let changes):
      reply.times = [try await peer.arrivals.wait(for: changes, in: collection, deadline: .seconds(600))]
    case .observe(let collection, let count):
      reply = try await peer.observe(collection, count: count) { try? Self.say(Reply()) }
    case .commitOneByOne(let collection, let count, let gap):
      reply = try await peer.commitOneByOne(collection, count: count, gap: .milliseconds(gap))
    case .updateField(let collection, let field, let count, let perTransaction):
      try await peer.updateField(field, of: collection, count: count, perTransaction: perTransaction)
    case .writeLarge(let id, let bytes): reply = try await peer.writeLarge(id, canonicalBytes: bytes)
    case .holds(let collection, let id): reply.figures["holds"] = try peer.holds(collection, id) ? 1 : 0
    case .scan(let collection, let predicate, let rounds):
      reply = try peer.scan(collection, predicate, rounds: rounds)
    case .state(let collection): reply = try peer.state(of: collection)
    }
    reply.figures["seconds"] = (Measures.nanoseconds - start) / 1e9
    return reply
  }
}
