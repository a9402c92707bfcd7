/// The sending half of a stream over packets: it numbers packets and resends lost ones.
///
/// It keeps packets until they are acknowledged. A packet is lost when three that were sent later have
/// arrived, or when no acknowledgement arrives within the time that the round trip makes likely.
///
/// A loss alone does not slow the sender down, since a radio loses packets on an idle line too. A growing
/// round trip does, because packets then wait in a queue on their way.
///
/// Source: the order of transmissions as measure of loss is that of RFC 9002, section 6.1.
package struct DatagramSender: Sendable {
  private struct Flight {
    let segment: DatagramSegment
    var sentAt: Duration
    /// The serial number of its latest transmission among all transmissions.
    var serial: UInt64
    var transmissions = 1
    var state = State.inFlight

    enum State { case inFlight, lost, arrived }
  }

  private let payloadBytes: Int
  private let window: Int
  private var waiting = OutgoingBytes()
  private var wantsEnd = false
  package private(set) var hasSentEnd = false
  /// The packets that were sent, from the oldest unacknowledged one on.
  private var flights: [Flight] = []
  /// The number of the first of them.
  package private(set) var oldest: Int64 = 0
  /// The first number that the other end has not granted.
  private var limit: Int64
  private var serial: UInt64 = 0
  private var burst = DatagramLimits.firstBurst
  private var roundTrip = RoundTripTime()
  /// How many times in a row an acknowledgement timed out.
  private var expiries = 0
  /// Since when packets are in flight without an acknowledgement.
  private var waitingSince: Duration?

  /// Bytes of payload that were queued and are not in packets yet.
  package var waitingBytes: Int { waiting.count }
  /// The number of packets that were sent again.
  package private(set) var resentPackets: UInt64 = 0

  /// Starts a stream of packets of at most `payloadBytes` each, of which the other end has granted `window`.
  package init(payloadBytes: Int, window: Int) {
    self.payloadBytes = payloadBytes
    self.window = window
    limit = Int64(window)
  }

  /// The number of the next new packet.
  package var next: Int64 { oldest + Int64(flights.count) }
  /// Whether everything was sent and acknowledged, including the end of the stream.
  package var isOver: Bool { hasSentEnd && flights.isEmpty }
  /// Packets that are kept until they are acknowledged.
  package var keptPackets: Int { flights.count }

  private var inFlight: Int { flights.count { $0.state == .inFlight } }
  private var hasNew: Bool { waiting.count > 0 || wantsEnd && !hasSentEnd }

  // MARK: - Sending

  /// Queues bytes; drops them after the end.
  package mutating func append(_ pieces: [[UInt8]]) { if !wantsEnd { waiting.append(pieces) } }

  /// Ends the stream after what is queued.
  package mutating func finish() { wantsEnd = true }

  /// Whether `take` has a packet.
  package var hasPacket: Bool {
    inFlight < burst && (flights.contains { $0.state == .lost } || hasNew && next < limit)
  }

  /// Takes the packet to send now; `nil` when there is none.
  ///
  /// It is the oldest lost one, or else a new one within the credit.
  package mutating func take(at now: Duration) -> DatagramSegment? {
    guard hasPacket else { return nil }
    serial += 1
    if waitingSince == nil { waitingSince = now }
    if let index = flights.firstIndex(where: { $0.state == .lost }) {
      flights[index].state = .inFlight
      flights[index].sentAt = now
      flights[index].serial = serial
      flights[index].transmissions += 1
      resentPackets += 1
      return flights[index].segment
    }
    let bytes = waiting.take(atMost: payloadBytes)
    let isLast = wantsEnd && waiting.count == 0
    hasSentEnd = hasSentEnd || isLast
    let segment = DatagramSegment(number: next, bytes: bytes, isLast: isLast)
    flights.append(Flight(segment: segment, sentAt: now, serial: serial))
    return segment
  }

  /// Whether something waits for credit, and nothing is in flight whose acknowledgement could grant some.
  package var isStarved: Bool { flights.isEmpty && hasNew && next >= limit }

  /// How long a question for credit waits for its answer.
  package var patience: Duration { roundTrip.patience(afterExpiries: expiries) }

  // MARK: - Time

  /// When `tick` must be called, if no acknowledgement arrives before.
  package var deadline: Duration? {
    inFlight == 0 ? nil : waitingSince.map { $0 + roundTrip.patience(afterExpiries: expiries) }
  }

  /// Counts the packets in flight as lost when the deadline has passed.
  ///
  /// - Throws: `unanswered` when a packet was sent as often as allowed.
  package mutating func tick(at now: Duration) throws(DatagramFault) {
    guard let deadline, deadline <= now else { return }
    expiries += 1
    waitingSince = nil
    burst = DatagramLimits.leastBurst
    for index in flights.indices where flights[index].state == .inFlight { flights[index].state = .lost }
    let worst = flights.max { $0.transmissions < $1.transmissions }
    if let worst, worst.transmissions >= DatagramLimits.transmissions {
      throw .unanswered(
        "packet \(worst.segment.number) was sent \(worst.transmissions) times and never acknowledged")
    }
  }

  // MARK: - Acknowledgements

  /// Takes an acknowledgement of the other end.
  ///
  /// - Throws: `malformed` when it acknowledges packets that were not sent or grants more than its window.
  package mutating func receive(
    _ acknowledgement: DatagramAcknowledgement, at now: Duration
  ) throws(DatagramFault) {
    guard acknowledgement.next <= next else {
      throw .malformed("packet \(acknowledgement.next - 1) is acknowledged, and \(next) were sent")
    }
    guard acknowledgement.credit <= window else {
      throw .malformed("\(acknowledgement.credit) packets are granted, more than the window of \(window)")
    }
    let beyond = acknowledgement.numbersBeyond
    if let last = beyond.last, last >= next {
      throw .malformed("packet \(last) is acknowledged, and \(next) were sent")
    }
    limit = max(limit, acknowledgement.next + Int64(acknowledgement.credit))
    // An acknowledgement that a later one has overtaken says nothing new.
    guard acknowledgement.next >= oldest else { return }
    markArrived(Array(oldest..<acknowledgement.next) + beyond, at: now)
  }

  /// Records that everything has arrived.
  package mutating func receiveEverything() {
    oldest = next
    flights = []
    waitingSince = nil
  }

  private mutating func markArrived(_ numbers: [Int64], at now: Duration) {
    var (newest, sample, count) = (UInt64(0), Duration?.none, 0)
    for number in numbers {
      let index = Int(number - oldest)
      guard flights.indices.contains(index), flights[index].state != .arrived else { continue }
      newest = max(newest, flights[index].serial)
      // Of a packet that was sent twice it is unknown which transmission arrived.
      if flights[index].transmissions == 1 { sample = now - flights[index].sentAt }
      flights[index].state = .arrived
      count += 1
    }
    guard count > 0 else { return }
    for index in flights.indices where isOvertaken(flights[index], by: newest, at: now) {
      flights[index].state = .lost
    }
    let done = flights.prefix { $0.state == .arrived }.count
    flights.removeFirst(done)
    oldest += Int64(done)
    waitingSince = flights.isEmpty ? nil : now
    adapt(to: sample, count)
  }

  /// Whether a packet counts as lost, because later ones have arrived.
  ///
  /// A packet that was sent again gets a round trip's time first. Otherwise a line that reorders much would
  /// cause endless resends.
  private func isOvertaken(_ flight: Flight, by newest: UInt64, at now: Duration) -> Bool {
    flight.state == .inFlight && flight.serial + UInt64(DatagramLimits.reordering) <= newest
      && (flight.transmissions == 1 || now - flight.sentAt >= roundTrip.usual)
  }

  /// Raises the limit of packets in flight while the round trip stays short, and lowers it otherwise.
  private mutating func adapt(to sample: Duration?, _ arrived: Int) {
    if let sample {
      roundTrip.record(sample)
      expiries = 0
    }
    let isQueueing = sample.map { $0 > (roundTrip.shortest ?? $0) + DatagramLimits.queueTime } ?? false
    burst =
      isQueueing
      ? max(DatagramLimits.leastBurst, burst - 1)
      : min(DatagramLimits.window, burst + arrived)
  }
}
