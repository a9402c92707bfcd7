import Foundation
import PeerControl
import TestKit
import Testing

extension DiscoveryTests {
  /// Real peers that find each other over real multicast, on machines of their own.
  @Suite struct NeighbourTests {
    static let isPossible = NetworkNamespaces.obstacle == nil
    static let skipped: Comment = "skipped: \(NetworkNamespaces.obstacle ?? "")"

    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    @Test(.enabled(if: isPossible, skipped), arguments: [NetworkNamespaces.Addresses.both, .linkLocal])
    func `peers on two machines find each other and sync`(_ addresses: NetworkNamespaces.Addresses)
      async throws
    {
      let machines = try NetworkNamespaces(machines: 2, addresses: addresses)
      let peers = [
        try await NeighbourPeer("left", on: machines, 0, in: directory),
        try await NeighbourPeer("right", on: machines, 1, in: directory),
      ]
      defer { for peer in peers { peer.process.stop() } }
      for peer in peers { try await peer.write(peer.name) }
      for peer in peers { try await peer.wait(forDocuments: ["left", "right"]) }
      for peer in peers { try await expectEqual(peer.connections, 1) }
    }

    #if TLS
      @Test(.enabled(if: isPossible, skipped))
      func `peers with a shared key find those with the same one, and no others`() async throws {
        let machines = try NetworkNamespaces(machines: 3)
        for name in ["key", "other"] {
          let made = try Tool.run(["key", "make", "--out", directory.file(name)], in: directory.path)
          try #require(made.status == 0, "\(made.errors)")
        }
        func peer(_ name: String, _ machine: Int, _ key: String) async throws -> NeighbourPeer {
          let options = ["--app", "garage", "--shared-key", directory.file(key)]
          return try await NeighbourPeer(name, on: machines, machine, in: directory, options)
        }
        let stranger = try await peer("stranger", 2, "other")
        let peers = [try await peer("left", 0, "key"), try await peer("right", 1, "key")]
        defer { for peer in peers + [stranger] { peer.process.stop() } }
        for peer in peers { try await peer.write(peer.name) }
        for peer in peers { try await peer.wait(forDocuments: ["left", "right"]) }
        #expect(try await stranger.documents.isEmpty)
        #expect(try await stranger.connections == 0)
      }
    #endif

    @Test(.enabled(if: isPossible, skipped))
    func `several peers on one machine find each other, and those elsewhere`() async throws {
      let machines = try NetworkNamespaces(machines: 2)
      var peers: [NeighbourPeer] = []
      defer { for peer in peers { peer.process.stop() } }
      for number in 0..<4 {
        peers.append(try await NeighbourPeer("peer\(number)", on: machines, number / 3, in: directory))
      }
      for peer in peers { try await peer.write(peer.name) }
      for peer in peers { try await peer.wait(forDocuments: Set(peers.map(\.name))) }
    }

    @Test(.enabled(if: isPossible, skipped))
    func `a machine whose network goes and comes is found again`() async throws {
      let machines = try NetworkNamespaces(machines: 2)
      try machines.set(1, up: false)
      let left = try await NeighbourPeer("left", on: machines, 0, in: directory)
      let right = try await NeighbourPeer("right", on: machines, 1, in: directory)
      defer { for peer in [left, right] { peer.process.stop() } }
      // It hears nobody, and says why.
      while !right.process.log.contains(where: { $0.contains("multicast") }) {
        try await Task.sleep(for: .milliseconds(50))
      }
      try machines.set(1, up: true)
      try await left.write("a")
      try await right.wait(forDocuments: ["a"])
      try machines.set(lineOf: 1, up: false)
      try await left.write("b")
      try machines.set(lineOf: 1, up: true)
      try await right.wait(forDocuments: ["a", "b"])
    }

    @Test(.enabled(if: isPossible, skipped))
    func `a peer that crashes and starts again is found again`() async throws {
      let machines = try NetworkNamespaces(machines: 2)
      let left = try await NeighbourPeer("left", on: machines, 0, in: directory)
      let right = try await NeighbourPeer("right", on: machines, 1, in: directory)
      try await left.wait(forConnections: 1)
      // It says no goodbye.
      right.process.kill()
      try await left.wait(forConnections: 0)
      try await left.write("while it was away")
      let again = try await NeighbourPeer("right", on: machines, 1, in: directory)
      defer { for peer in [left, again] { peer.process.stop() } }
      try await again.wait(forDocuments: ["while it was away"])
      #expect(try await left.connections == 1)
    }
  }
}
