import CRDTCore

@testable import Links

/// Machines on one link, with a clock of their own: what one sends all get, at once.
struct VirtualLink {
  struct Machine {
    var neighbourhood: Neighbourhood
    let interface: NetworkInterface
    var events: [DiscoveryEvent] = []
    /// Whether it takes part.
    var isUp = true

    /// The candidates that it knows.
    var known: Set<String> {
      events.reduce(into: []) { known, event in
        switch event {
        case .found(let candidate): known.insert(candidate.id)
        case .lost(let instance): known.remove(instance)
        case .conditions: break
        }
      }
    }
  }

  private(set) var now = Duration.zero
  var machines: [Machine] = []
  /// The packets to everybody, with who sent them.
  private(set) var sent: [(machine: Int, packet: Neighbourhood.Packet)] = []
  private var random = SplitMix64(seed: 7)

  static func advertisement(_ instance: String, tag: String = "aa") -> PeerAdvertisement {
    PeerAdvertisement(instance: instance, port: 4_040) { "\(tag)\($0)" }
  }

  static func interface(_ number: Int, index: Int = 1) -> NetworkInterface {
    NetworkInterface(
      name: "eth\(index)", index: index,
      addresses: [.init(bytes: [10, 0, 0, UInt8(number)], prefixBits: 24)])
  }

  /// Puts a machine on the link.
  @discardableResult
  mutating func join(_ instance: String, tag: String = "aa") -> Int {
    let number = machines.count
    let chance = Double.random(in: 0..<1, using: &random)
    machines.append(
      Machine(
        neighbourhood: Neighbourhood(Self.advertisement(instance, tag: tag), day: 5) { chance },
        interface: Self.interface(number + 1)))
    rejoin(number)
    return number
  }

  /// Puts a machine's interface up.
  mutating func rejoin(_ number: Int) {
    machines[number].isUp = true
    perform(machines[number].neighbourhood.update([machines[number].interface], now: now), by: number)
    for socket in machines[number].neighbourhood.sockets {
      perform(machines[number].neighbourhood.opened(socket, now: now), by: number)
    }
  }

  /// Takes a machine off the link.
  mutating func leave(_ number: Int, goodbye: Bool) {
    if goodbye { perform(machines[number].neighbourhood.goodbyes, by: number) }
    machines[number].isUp = false
    perform(machines[number].neighbourhood.update([], now: now), by: number)
  }

  /// Lets a time pass.
  mutating func run(for time: Duration) {
    let end = now + time
    while let next = machines.filter(\.isUp).compactMap(\.neighbourhood.next).min(), next <= end {
      now = max(now, next)
      for number in machines.indices where machines[number].isUp {
        perform(machines[number].neighbourhood.takeDue(now: now), by: number)
      }
    }
    now = end
  }

  /// Has a machine's day change.
  mutating func update(day: Int, of number: Int, _ instance: String, tag: String = "aa") {
    let advertisement = Self.advertisement(instance, tag: tag)
    perform(machines[number].neighbourhood.update(day: day, of: advertisement, now: now), by: number)
  }

  private mutating func perform(_ steps: [Neighbourhood.Step], by number: Int) {
    for step in steps {
      switch step {
      case .report(let event): machines[number].events.append(event)
      case .send(let packet):
        sent.append((number, packet))
        deliver(packet, from: number)
      }
    }
  }

  private mutating func deliver(_ packet: Neighbourhood.Packet, from number: Int) {
    let source = DatagramSource(address: machines[number].interface.addresses[0].bytes, port: 5_353)
    for other in machines.indices where machines[other].isUp {
      if let receiver = packet.receiver, receiver.address != machines[other].interface.addresses[0].bytes {
        continue
      }
      perform(
        machines[other].neighbourhood.receive(packet.bytes, from: source, on: 1, now: now), by: other)
    }
  }
}
