/// Multicast DNS on all interfaces: what to send and which peers are found; without sockets or a clock.
struct Neighbourhood {
  /// A socket of one family on one interface.
  struct Socket: Hashable, Sendable {
    let interface: Int
    let family: AddressFamily
  }

  /// A packet to be sent.
  struct Packet: Equatable {
    let bytes: [UInt8]
    let socket: Socket
    /// The only receiver; `nil` for the group of multicast DNS.
    let receiver: DatagramSource?
  }

  /// An action for the driver.
  enum Step: Equatable {
    case send(Packet)
    case report(DiscoveryEvent)
  }

  private struct Link {
    var interface: NetworkInterface
    /// The families whose sockets are open.
    var families: Set<AddressFamily>
    var responder: Responder
    var browser: Browser
    var found: [String: Browser.Found] = [:]
  }

  private let instance: String
  private let port: UInt16
  private let isIPv4Only: Bool
  private let random: @Sendable () -> Double
  /// The tags of yesterday, today and tomorrow.
  private var tags: [String]
  private var interfaces: [Int: NetworkInterface] = [:]
  private var links: [Int: Link] = [:]
  /// Limits the packets that are read, by interface.
  private var arrivals = RateLimiter<Int>(
    atOnce: DiscoveryLimits.packetsPerSecond, perSecond: DiscoveryLimits.packetsPerSecond)

  /// Starts without interfaces and open sockets.
  ///
  /// - Parameters:
  ///   - advertisement: The advertisement.
  ///   - day: The day, counted in UTC since 1970-01-01.
  ///   - random: Numbers from 0 to 1.
  init(_ advertisement: PeerAdvertisement, day: Int, random: @escaping @Sendable () -> Double) {
    instance = advertisement.instance
    port = UInt16(clamping: advertisement.port)
    isIPv4Only = advertisement.isIPv4Only
    tags = Self.tags(advertisement, day)
    self.random = random
  }

  private static func tags(_ advertisement: PeerAdvertisement, _ day: Int) -> [String] {
    (day - 1...day + 1).map(advertisement.tag)
  }

  // MARK: - Interfaces

  /// The sockets that should be open.
  var sockets: Set<Socket> {
    Set(
      interfaces.values.flatMap { interface in
        AddressFamily.allCases.filter(interface.speaks).map { Socket(interface: interface.index, family: $0) }
      })
  }

  /// Sets the current interfaces; afterwards ``sockets`` may differ.
  mutating func update(_ current: [NetworkInterface], now: Duration) -> [Step] {
    let before = interfaces
    interfaces = Dictionary(current.map { ($0.index, $0) }, uniquingKeysWith: { $1 })
    var changed: Set<String> = []
    for (index, link) in links {
      guard let interface = interfaces[index], interface.name == link.interface.name else {
        changed.formUnion(link.found.keys)
        links[index] = nil
        continue
      }
      guard interface != before[index] else { continue }
      let service = service(on: interface)
      links[index]?.interface = interface
      links[index]?.responder.change(to: service, now: now)
      links[index]?.browser.askAgain(now: now)
      changed.formUnion(link.found.keys)
    }
    return report(changed) + takeDue(now: now)
  }

  /// Records that a socket is open; announces this peer there, and asks for others.
  mutating func opened(_ socket: Socket, now: Duration) -> [Step] {
    guard let interface = interfaces[socket.interface] else { return [] }
    if links[socket.interface] == nil {
      links[socket.interface] = Link(
        interface: interface, families: [socket.family],
        responder: Responder(service(on: interface), now: now, random: random),
        browser: Browser(names, now: now, random: random))
    } else {
      links[socket.interface]?.families.insert(socket.family)
      links[socket.interface]?.responder.announceAgain(now: now)
      links[socket.interface]?.browser.askAgain(now: now)
    }
    return takeDue(now: now)
  }

  /// Records that a socket is closed.
  mutating func closed(_ socket: Socket) -> [Step] {
    links[socket.interface]?.families.remove(socket.family)
    guard let link = links[socket.interface], link.families.isEmpty else { return [] }
    links[socket.interface] = nil
    return report(Set(link.found.keys))
  }

  /// Sets the current day.
  mutating func update(day: Int, of advertisement: PeerAdvertisement, now: Duration) -> [Step] {
    let tags = Self.tags(advertisement, day)
    guard tags != self.tags else { return [] }
    self.tags = tags
    var changed: Set<String> = []
    for (index, link) in links {
      let (service, names) = (service(on: link.interface), names)
      links[index]?.responder.change(to: service, now: now)
      changed.formUnion(take(links[index]?.browser.change(to: names, now: now) ?? [], on: index))
    }
    return report(changed) + takeDue(now: now)
  }

  private var names: [DNSName] { tags.compactMap { ServiceNames.peers(tagged: $0) } }

  private func service(on interface: NetworkInterface) -> Service {
    let addresses = interface.addresses.map(\.bytes).filter { $0.count == 4 || !isIPv4Only }
    return Service(
      instance: instance, port: port, tag: tags[1],
      addresses: Array(addresses.prefix(DiscoveryLimits.addresses)))
  }

  // MARK: - Packets

  /// When something must be sent or expires next.
  var next: Duration? {
    links.values.flatMap { [$0.browser.next, $0.responder.next].compactMap(\.self) }.min()
  }

  /// Takes a packet that arrived on an interface.
  mutating func receive(
    _ bytes: [UInt8], from source: DatagramSource, on interface: Int, now: Duration
  ) -> [Step] {
    guard let link = links[interface], link.interface.isOnLink(source.address),
      arrivals.take(interface, at: now) == nil, let message = DNSMessage(bytes)
    else { return [] }
    var changed: Set<String> = []
    if message.isResponse {
      // A sender that cannot use the port of multicast DNS cannot speak for a host.
      guard source.port == DatagramSource.multicastPort else { return [] }
      let others = links.filter { $0.key != interface }.values
      let room = Browser.Room(
        candidates: DiscoveryLimits.candidates - others.reduce(0) { $0 + $1.browser.count },
        bytes: DiscoveryLimits.candidateBytes - others.reduce(0) { $0 + $1.browser.byteCount })
      let events = links[interface]?.browser.receive(message, own: instance, room: room, now: now) ?? []
      changed = take(events, on: interface)
    }
    links[interface]?.responder.receive(message, from: source, now: now)
    return report(changed) + takeDue(now: now)
  }

  /// Performs what is due.
  mutating func takeDue(now: Duration) -> [Step] {
    var (steps, changed): ([Step], Set<String>) = ([], [])
    for index in links.keys.sorted() {
      let answers = links[index]?.responder.takeDue(now: now) ?? []
      for answer in answers { steps += send(answer.message, on: index, to: answer.receiver) }
      guard let (questions, events) = links[index]?.browser.takeDue(now: now) else { continue }
      for question in questions { steps += send(question, on: index) }
      changed.formUnion(take(events, on: index))
    }
    return report(changed) + steps
  }

  /// The packets that say that this peer leaves.
  var goodbyes: [Step] {
    links.keys.sorted().flatMap { send(links[$0]?.responder.goodbye ?? DNSMessage(), on: $0) }
  }

  private func send(_ message: DNSMessage, on index: Int, to receiver: DatagramSource? = nil) -> [Step] {
    guard let link = links[index] else { return [] }
    let families = AddressFamily.allCases.filter { family in
      link.families.contains(family) && receiver.map { $0.address.count == family.addressBytes } ?? true
    }
    let packets = message.packets()
    return families.flatMap { family in
      packets.map {
        .send(Packet(bytes: $0, socket: Socket(interface: index, family: family), receiver: receiver))
      }
    }
  }

  // MARK: - Candidates

  /// Takes what an interface's browser found.
  ///
  /// - Returns: The instances that have changed.
  private mutating func take(_ events: [Browser.Event], on index: Int) -> Set<String> {
    var changed: Set<String> = []
    for event in events {
      switch event {
      case .found(let found):
        links[index]?.found[found.instance] = found
        changed.insert(found.instance)
      case .lost(let instance):
        links[index]?.found[instance] = nil
        changed.insert(instance)
      }
    }
    return changed
  }

  /// Reports the candidates' addresses, of all interfaces together.
  private func report(_ changed: Set<String>) -> [Step] {
    changed.sorted().map { instance in
      let endpoints = links.values.flatMap { link in
        (link.found[instance]).map { found in
          found.addresses.filter(link.interface.canReach).compactMap { address in
            PeerCandidate.Endpoint(address, port: found.port, on: link.interface)
          }
        } ?? []
      }
      return .report(
        endpoints.isEmpty
          ? .lost(instance)
          : .found(PeerCandidate(id: instance, endpoints: endpoints.sorted { $0.host < $1.host })))
    }
  }
}
