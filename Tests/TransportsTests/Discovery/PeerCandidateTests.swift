import NIOCore
import TestKit
import Testing

@testable import Links

@Suite struct PeerCandidateTests {
  @Test func `an endpoint is a numeric address and a port`() {
    for host in ["10.0.0.7", "fe80::1%1", "2001:db8::1", "::1"] {
      expect(PeerCandidate.Endpoint(host: host, port: 4_040) != nil, "\(host)")
    }
    for host in ["", "localhost", "10.0.0", "10.0.0.7%1", "fe80::1%", "fe80::1%no-such-interface", "%1"] {
      expect(PeerCandidate.Endpoint(host: host, port: 4_040) == nil, "\(host)")
    }
    for port in [0, -1, 65_536] { expect(PeerCandidate.Endpoint(host: "10.0.0.7", port: port) == nil) }
    #expect(PeerCandidate.Endpoint(host: "fe80::1%1", port: 4_040)?.description == "[fe80::1%1]:4040")
  }

  @Test func `the interface of an address is kept`() throws {
    let address = try #require(SocketAddress(numericHost: "fe80::1%7", port: 4_040))
    guard case .v6(let scoped) = address else {
      Issue.record("another family")
      return
    }
    let scope = withUnsafeBytes(of: scoped.address) { $0.load(fromByteOffset: 24, as: UInt32.self) }
    #expect(scope == 7)
    #expect(address.datagramSource?.address.prefix(2) == [0xFE, 0x80])
    #expect(address.datagramSource?.port == 4_040)
  }

  @Test func `what is on a link and can be a peer there`() {
    let interface = NetworkInterface(
      name: "eth0", index: 1,
      addresses: [
        .init(bytes: [10, 0, 4, 1], prefixBits: 22),
        .init(bytes: [0x20, 0x01] + [UInt8](repeating: 0, count: 14), prefixBits: 64),
      ])
    func v6(_ first: UInt8, _ second: UInt8, _ last: UInt8) -> [UInt8] {
      [first, second] + [UInt8](repeating: 0, count: 13) + [last]
    }
    let reachable: [[UInt8]] = [
      [10, 0, 4, 7], [10, 0, 7, 254], [169, 254, 1, 1], v6(0x20, 1, 9), v6(0xFE, 0x80, 1),
    ]
    for address in reachable { expect(interface.canReach(address), "\(address)") }
    let others: [[UInt8]] = [
      [10, 0, 8, 1], [10, 0, 7, 255], [127, 0, 0, 1], [0, 0, 0, 0], v6(0, 0, 1), v6(0, 0, 0),
      v6(0x20, 2, 9), v6(0xFF, 2, 0xFB), [], [1],
    ]
    for address in others { expect(!interface.canReach(address), "\(address)") }
    #expect(interface.speaks(.ipv4) && !interface.speaks(.ipv6))
  }
}
