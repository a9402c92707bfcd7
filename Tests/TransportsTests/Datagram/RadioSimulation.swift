import Links
import TestKit

/// Two ends of a packet link and the air between them, in virtual time: equal seeds give equal runs.
struct RadioSimulation {
  /// What the air does to packets.
  struct Air {
    /// Bytes that each direction carries in a second.
    var bytesPerSecond = 20_000
    var packetBytes = 180
    var latency: Duration = .milliseconds(30)
    /// Up to so much more, which reorders.
    var jitter: Duration = .zero
    /// Of 1,000 packets, how many are lost, doubled and damaged.
    var lost = 0
    var doubled = 0
    var damaged = 0
    /// Packets that a radio queues before it takes no more.
    var queuePackets = 4
  }

  struct End {
    var stream: DatagramStream
    var received: [UInt8] = []
    /// Of ten moments, at how many it takes what has arrived.
    var eagerness = 10
    var sentPackets = 0
    var sentBytes = 0
    /// The most packets that were held here at once.
    var mostHeld = 0
    fileprivate var lineFree: Duration = .zero
  }

  private struct Arrival {
    let time: Duration
    let end: Int
    let packet: [UInt8]
  }

  private(set) var now: Duration = .zero
  var ends: [End]
  var air: Air
  /// Changes what is in the air; for hostile ones.
  var tamper: (inout [UInt8], _ to: Int) -> Void = { _, _ in }
  private var random: SeededGenerator
  private var arrivals: [Arrival] = []

  init(_ air: Air = Air(), seed: UInt64 = 1, options: DatagramOptions = DatagramOptions()) {
    self.air = air
    random = SeededGenerator(seed: seed)
    let tags = [UInt32(truncatingIfNeeded: random.next()), UInt32(truncatingIfNeeded: random.next())]
    ends = tags.indices.map { index in
      End(
        stream: DatagramStream(
          packetBytes: air.packetBytes, tag: tags[index], name: "radio \(1 - index)", options: options,
          at: .zero))
    }
  }

  /// Runs until `condition` holds.
  ///
  /// - Returns: Whether it came to that before `limit` of the simulation's time.
  mutating func run(within limit: Duration = .seconds(3_600), until condition: (Self) -> Bool) -> Bool {
    let end = now + limit
    pumpAll()
    while !condition(self) {
      guard let next = nextEvent, next <= end else { return false }
      now = max(now, next)
      let due = arrivals.filter { $0.time <= now }
      arrivals.removeAll { $0.time <= now }
      for arrival in due { ends[arrival.end].stream.receive(arrival.packet, at: now) }
      for index in ends.indices where ends[index].stream.nextTick.map({ $0 <= now }) ?? false {
        ends[index].stream.tick(at: now)
      }
      pumpAll()
    }
    return true
  }

  /// Puts a packet into the air that no end has sent.
  mutating func inject(_ packet: [UInt8], to end: Int) {
    arrivals.append(Arrival(time: now, end: end, packet: packet))
  }

  /// Forgets what is in the air.
  mutating func clearAir() { arrivals = [] }

  private var nextEvent: Duration? {
    var times = arrivals.map(\.time)
    for end in ends {
      if let tick = end.stream.nextTick { times.append(tick) }
      // One whose radio is full goes on when it is not.
      if let send = end.stream.nextSend { times.append(max(send, radioReady(end))) }
      if radioReady(end) > now { times.append(radioReady(end)) }
      if end.stream.hasReceived { times.append(now + .milliseconds(7)) }
    }
    return times.min()
  }

  private var packetTime: Duration { time(of: air.packetBytes) }

  private func time(of count: Int) -> Duration {
    .nanoseconds(Int64(count) * 1_000_000_000 / Int64(air.bytesPerSecond))
  }

  private func radioReady(_ end: End) -> Duration { end.lineFree - packetTime * air.queuePackets }

  private mutating func pumpAll() {
    for index in ends.indices {
      ends[index].mostHeld = max(ends[index].mostHeld, ends[index].stream.heldPackets)
      if random.int(below: 10) < ends[index].eagerness {
        while let bytes = ends[index].stream.takeReceived(at: now) { ends[index].received += bytes }
      }
      while radioReady(ends[index]) <= now, let packet = ends[index].stream.nextPacket(at: now) {
        precondition(packet.count <= air.packetBytes, "a packet of \(packet.count) bytes")
        transmit(packet, from: index)
      }
    }
  }

  private mutating func transmit(_ packet: [UInt8], from index: Int) {
    ends[index].sentPackets += 1
    ends[index].sentBytes += packet.count
    ends[index].lineFree = max(ends[index].lineFree, now) + time(of: packet.count)
    for _ in 0..<(random.int(below: 1_000) < air.doubled ? 2 : 1) {
      guard random.int(below: 1_000) >= air.lost else { continue }
      var packet = packet
      if random.int(below: 1_000) < air.damaged {
        packet[random.int(below: packet.count)] ^= 1 << UInt8(random.int(below: 8))
      }
      tamper(&packet, 1 - index)
      let jitter = air.jitter * random.int(below: 1_000) / 1_000
      arrivals.append(
        Arrival(time: ends[index].lineFree + air.latency + jitter, end: 1 - index, packet: packet))
    }
  }
}

extension RadioSimulation.End {
  /// Whether a direction has ended in order.
  func hasEnded(_ direction: LinkDirection) -> Bool {
    if case .some(.none) = stream.ends[direction] { true } else { false }
  }

  /// Why a direction has ended; `nil` where it has not, or in order.
  func error(_ direction: LinkDirection) -> LinkError? { stream.ends[direction] ?? nil }
}
