import BenchmarkSupport
import Foundation
import SyncProtocol
import Transports

extension Peer {
  /// Connects to a peer on this machine and waits until all that it has is here.
  ///
  /// - Returns: The seconds until then, when it began, and the bytes of all frames in both directions once
  ///   the line is still.
  func meet(_ port: Int) async throws -> Reply {
    var reply = Reply()
    let events = network.events()
    let start = Measures.nanoseconds
    network.connect(host: "127.0.0.1", port: port)
    for await event in events {
      if case .session(_, .caughtUp) = event { break }
      if case .disconnected(_, let end) = event { throw BenchmarkError("the session ended: \(end)") }
    }
    reply.times = [start]
    reply.figures["meetSeconds"] = (Measures.nanoseconds - start) / 1e9
    var bytes = 0.0
    while true {
      try await Task.sleep(for: .milliseconds(400))
      let statistics = network.connections.first?.statistics ?? SyncStatistics()
      let now = Double(statistics.bytesSent + statistics.bytesReceived)
      if now == bytes { break }
      bytes = now
    }
    reply.figures["wireBytes"] = bytes
    return reply
  }

  /// Ends the connection to a peer on this machine.
  func part(_ port: Int) async throws {
    network.disconnect(host: "127.0.0.1", port: port)
    while !network.connections.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
  }
}
