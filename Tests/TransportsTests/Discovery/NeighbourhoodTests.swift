import TestKit
import Testing

@testable import Links

@Suite struct NeighbourhoodTests {
  @Test func `peers find each other within a moment, and where they are`() {
    var link = VirtualLink()
    link.join("a")
    link.run(for: .seconds(10))
    link.join("b")
    link.run(for: .milliseconds(130))
    let endpoints = PeerCandidate.Endpoint(host: "10.0.0.2", port: 4_040).map { [$0] } ?? []
    #expect(link.machines[0].events == [.found(PeerCandidate(id: "b", endpoints: endpoints))])
    #expect(link.machines[1].known == ["a"])
  }

  @Test func `twenty peers that start at once find each other within two seconds`() {
    var link = VirtualLink()
    let names = (10..<30).map { "peer\($0)" }
    for name in names { link.join(name) }
    link.run(for: .seconds(2))
    for (number, name) in names.enumerated() {
      expectEqual(link.machines[number].known, Set(names).subtracting([name]))
    }
  }

  @Test func `at rest little is said`() {
    var link = VirtualLink()
    for number in 10..<20 { link.join("peer\(number)") }
    link.run(for: .seconds(3_600))
    let before = link.sent.count
    link.run(for: .seconds(3_600))
    // Addresses and ports hold for two minutes, and one question for each renews them for all.
    #expect((1...2_500).contains(link.sent.count - before))
    #expect(link.machines.allSatisfy { $0.known.count == 9 })
  }

  @Test func `peers of other applications are not found`() {
    var link = VirtualLink()
    link.join("a")
    link.join("b", tag: "bb")
    link.run(for: .seconds(10))
    #expect(link.machines.allSatisfy { $0.events.isEmpty })
  }

  @Test func `who says goodbye is lost within a second, who does not after two minutes`() {
    var link = VirtualLink()
    for name in ["a", "b", "c"] { link.join(name) }
    link.run(for: .seconds(10))
    link.leave(1, goodbye: true)
    link.leave(2, goodbye: false)
    link.run(for: .milliseconds(1_100))
    #expect(link.machines[0].known == ["c"])
    link.run(for: .seconds(121))
    #expect(link.machines[0].known == [])
    #expect(link.machines[1].known == [], "with the interface its candidates go")
    link.rejoin(1)
    link.rejoin(2)
    link.run(for: .seconds(2))
    #expect(link.machines.map(\.known) == [["b", "c"], ["a", "c"], ["a", "b"]])
  }

  @Test func `over midnight peers stay, whichever clock is first`() {
    var link = VirtualLink()
    for name in ["a", "b"] { link.join(name) }
    link.run(for: .seconds(10))
    link.update(day: 6, of: 0, "a")
    link.run(for: .seconds(3_600))
    #expect(link.machines.map(\.known) == [["b"], ["a"]])
    link.update(day: 6, of: 1, "b")
    link.run(for: .seconds(3_600))
    #expect(link.machines.map(\.known) == [["b"], ["a"]])
    #expect(link.machines.allSatisfy { $0.events.count == 1 })
    // A peer whose clock stands two days off is not found any more.
    link.update(day: 7, of: 1, "b")
    link.update(day: 8, of: 1, "b")
    link.run(for: .seconds(10))
    #expect(link.machines[0].known == [])
  }

  @Test func `a machine on two links has one candidate with the addresses of both`() throws {
    var neighbourhood = Neighbourhood(VirtualLink.advertisement("own"), day: 5) { 0.5 }
    let links = [
      VirtualLink.interface(1),
      NetworkInterface(
        name: "wlan0", index: 2,
        addresses: [.init(bytes: [0xFE, 0x80] + [UInt8](repeating: 0, count: 13) + [1], prefixBits: 64)]),
    ]
    _ = neighbourhood.update(links, now: .zero)
    #expect(
      neighbourhood.sockets == [.init(interface: 1, family: .ipv4), .init(interface: 2, family: .ipv6)])
    for socket in neighbourhood.sockets { _ = neighbourhood.opened(socket, now: .zero) }
    let scoped: [UInt8] = [0xFE, 0x80] + [UInt8](repeating: 0, count: 13) + [7]
    func answer(_ address: [UInt8]) -> [UInt8] {
      let service = Service(instance: "other", port: 4_040, tag: "aa5", addresses: [address])
      return DNSMessage.response(service.records).bytes
    }
    let first = DatagramSource(address: [10, 0, 0, 7], port: 5_353)
    let second = DatagramSource(address: scoped, port: 5_353)
    _ = neighbourhood.receive(answer(first.address), from: first, on: 1, now: .seconds(9))
    let steps = neighbourhood.receive(answer(scoped), from: second, on: 2, now: .seconds(9))
    let hosts = steps.compactMap { step -> [String]? in
      if case .report(.found(let candidate)) = step { candidate.endpoints.map(\.host) } else { nil }
    }
    #expect(hosts == [["10.0.0.7", "fe80::7%wlan0"]])
    // With one of the links its address goes.
    let rest = neighbourhood.update([links[0]], now: .seconds(10))
    let endpoint = try #require(PeerCandidate.Endpoint(host: "10.0.0.7", port: 4_040))
    #expect(rest.contains(.report(.found(PeerCandidate(id: "other", endpoints: [endpoint])))))
    #expect(neighbourhood.closed(.init(interface: 1, family: .ipv4)) == [.report(.lost("other"))])
  }

  // MARK: - Hostile packets

  private func neighbour() -> Neighbourhood {
    var neighbourhood = Neighbourhood(VirtualLink.advertisement("own"), day: 5) { 0.5 }
    _ = neighbourhood.update([VirtualLink.interface(1)], now: .zero)
    _ = neighbourhood.opened(.init(interface: 1, family: .ipv4), now: .zero)
    return neighbourhood
  }

  private func told(_ instance: String, _ addresses: [[UInt8]]) -> [UInt8] {
    let service = Service(instance: instance, port: 4_040, tag: "aa5", addresses: addresses)
    return DNSMessage.response(service.records).bytes
  }

  private func hosts(_ steps: [Neighbourhood.Step]) -> [String] {
    steps.flatMap { step -> [String] in
      if case .report(.found(let candidate)) = step { candidate.endpoints.map(\.host) } else { [] }
    }
  }

  @Test func `packets from outside the link, from other ports and for other interfaces are dropped`() {
    var neighbourhood = neighbour()
    let packet = told("other", [[10, 0, 0, 7]])
    for (address, port, interface) in [
      ([10, 0, 1, 7], 5_353, 1), ([8, 8, 8, 8], 5_353, 1), ([10, 0, 0, 7], 5_354, 1),
      ([10, 0, 0, 7], 5_353, 2),
    ] as [([UInt8], UInt16, Int)] {
      let source = DatagramSource(address: address, port: port)
      let steps = neighbourhood.receive(packet, from: source, on: interface, now: .zero)
      expect(hosts(steps).isEmpty, "\(source) on \(interface)")
    }
    let source = DatagramSource(address: [10, 0, 0, 7], port: 5_353)
    #expect(hosts(neighbourhood.receive(packet, from: source, on: 1, now: .zero)) == ["10.0.0.7"])
  }

  @Test func `addresses that are not on the link are not candidates`() {
    var neighbourhood = neighbour()
    let packet = told(
      "other",
      [
        [8, 8, 8, 8], [127, 0, 0, 1], [10, 0, 0, 255], [0, 0, 0, 0], [224, 0, 0, 251], [10, 0, 0, 9],
        [UInt8](repeating: 0, count: 15) + [1],
      ])
    let source = DatagramSource(address: [10, 0, 0, 7], port: 5_353)
    #expect(hosts(neighbourhood.receive(packet, from: source, on: 1, now: .zero)) == ["10.0.0.9"])
  }

  @Test func `a flood of packets is dropped beyond a rate`() {
    var neighbourhood = neighbour()
    let source = DatagramSource(address: [10, 0, 0, 7], port: 5_353)
    var found = 0
    for number in 0..<2_000 {
      // Each says that the peer is elsewhere.
      let packet = told("other", [[10, 0, 0, UInt8(2 + number % 200)]])
      found += hosts(neighbourhood.receive(packet, from: source, on: 1, now: .seconds(9))).isEmpty ? 0 : 1
    }
    #expect(found <= DiscoveryLimits.packetsPerSecond)
    let packet = told("another", [[10, 0, 0, 3]])
    #expect(hosts(neighbourhood.receive(packet, from: source, on: 1, now: .seconds(10))) == ["10.0.0.3"])
  }

  @Test func `candidates of all links together are bounded`() {
    var neighbourhood = Neighbourhood(VirtualLink.advertisement("own"), day: 5) { 0.5 }
    _ = neighbourhood.update([VirtualLink.interface(1), VirtualLink.interface(1, index: 2)], now: .zero)
    for socket in neighbourhood.sockets { _ = neighbourhood.opened(socket, now: .zero) }
    var found: Set<String> = []
    for number in 0..<1_000 {
      let packet = told("peer\(number)", [[10, 0, 0, UInt8(2 + number % 200)]])
      let source = DatagramSource(address: [10, 0, 0, 7], port: 5_353)
      let now = Duration.seconds(9) + .milliseconds(10) * number
      for case .report(.found(let candidate)) in neighbourhood.receive(
        packet, from: source, on: 1 + number % 2, now: now)
      {
        found.insert(candidate.id)
      }
    }
    #expect((100...DiscoveryLimits.candidates).contains(found.count))
  }
}
