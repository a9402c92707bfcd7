import CRDTCore
import DocStore
import SyncProtocol
import TestKit

/// Peers and links of a test network on which bytes take their time, and everything else none.
final class TimedNetwork {
  let network: TestNetwork
  private(set) var random: SeededGenerator
  /// Bytes under way, by their place of arrival.
  private var wires: [(to: Endpoint, delay: Duration, bytes: [(at: Duration, [UInt8])])] = []
  var now: Duration { network.now }

  init(seed: UInt64) {
    network = TestNetwork(seed: seed)
    random = SeededGenerator(seed: seed &+ 99)
  }

  /// Joins two peers by a link of a round trip.
  @discardableResult
  func connect(_ a: TestPeer, _ b: TestPeer, roundTrip: Duration) throws -> Endpoint {
    let (first, second) = try network.connect(a, b)
    for end in [first, second] { wires.append((end, roundTrip / 2, [])) }
    return first
  }

  func cut(_ end: Endpoint) {
    wires.removeAll { $0.to === end || $0.to === end.other }
    network.cut(end)
  }

  /// Lets time pass.
  func run(for span: Duration) throws {
    let end = now + span
    while true {
      try work()
      let arrivals = wires.compactMap(\.bytes.first?.at)
      let wakes = network.endpoints.filter { $0.closed == nil }.compactMap(\.wakeAt)
      guard let next = (arrivals + wakes).min(), next <= end else { break }
      try network.advance(to: next)
      for index in wires.indices {
        while let first = wires[index].bytes.first, first.at <= now {
          wires[index].bytes.removeFirst()
          let end = wires[index].to
          if end.closed == nil { try end.perform(end.session.receive(first.1, now: now)) }
        }
      }
    }
    try network.advance(to: end)
    try work()
  }

  /// Everything that takes no time.
  private func work() throws {
    while true {
      for peer in network.peers { try peer.distribute() }
      for index in wires.indices {
        guard let from = wires[index].to.other, !from.outbound.isEmpty else { continue }
        wires[index].bytes.append((now + wires[index].delay, from.outbound))
        from.outbound = []
      }
      guard let step = network.endpoints.lazy.compactMap(\.steps.first).first else { return }
      try step()
    }
  }
}
