/// The sending half of a stream over packets: numbers them, keeps them until they are acknowledged, and sends lost ones again.
///
/// A packet is lost when three that were sent later have arrived, or when nothing was acknowledged for as long as the round trip makes likely.
/// A loss alone slows nothing down, since a radio loses packets when the line is free too; a round trip that grows does, because packets
/// then wait in a queue on their way.
///
/// Source: the order of transmissions as measure of loss is that of RFC 9002, section 6.1.
package struct DatagramSender: Sendable {
  private struct Flight {
    let segment: DatagramSegment
    var sentAt: Duration
    /// Its place among all transmissions, the newest of its own.
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
  /// What was sent from the oldest packet on that was not acknowledged.
  private var flights: [Flight] = []
  /// The number of the first of them.
  package private(set) var oldest: Int64 = 0
  /// The first number that the other end has not granted.
  private var limit: Int64
  private var serial: UInt64 = 0
  private var burst = DatagramLimits.firstBurst
  private var roundTrip = RoundTripTime()
  /// How often in a row nothing was acknowledged in time.
  private var expiries = 0
  /// Since when something is in flight with nothing acknowledged.
  private var waitingSince: Duration?

  /// Bytes of payload that were handed over and not yet put into packets.
  package var waitingBytes: Int { waiting.count }
  /// Packets that went out again.
  package private(set) var resentPackets: UInt64 = 0

  /// Begins a stream of packets with at most `payloadBytes` each, of which the other end has granted `window`.
  package init(payloadBytes: Int, window: Int) {
    self.payloadBytes = payloadBytes
    self.window = window
    limit = Int64(window)
  }

  /// The number of the next new packet.
  package var next: Int64 { oldest + Int64(flights.count) }
  /// Whether all was sent and acknowledged, the end of the stream included.
  package var isOver: Bool { hasSentEnd && flights.isEmpty }
  /// Packets that are kept until they are acknowledged.
  package var keptPackets: Int { flights.count }

  private var inFlight: Int { flights.count { $0.state == .inFlight } }
  private var hasNew: Bool { waiting.count > 0 || wantsEnd && !hasSentEnd }

  // MARK: - Sending

  /// Queues bytes; none are taken behind the end.
  package mutating func append(_ pieces: [[UInt8]]) { if !wantsEnd { waiting.append(pieces) } }

  /// Ends the stream behind what is queued.
  package mutating func finish() { wantsEnd = true }

  /// Whether `take` has a packet.
  package var hasPacket: Bool {
    inFlight < burst && (flights.contains { $0.state == .lost } || hasNew && next < limit)
  }

  /// Takes the packet that goes out now: the oldest lost one, else a new one within the credit; `nil` where there is none.
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

  /// Whether there is something to send for which the other end has given no credit, and nothing in flight that would bring some.
  package var isStarved: Bool { flights.isEmpty && hasNew && next >= limit }

  /// How long a question for credit waits for its answer.
  package var patience: Duration { roundTrip.patience(afterExpiries: expiries) }

  // MARK: - Time

  /// When something has to be done, if nothing is acknowledged before.
  package var deadline: Duration? {
    inFlight == 0 ? nil : waitingSince.map { $0 + roundTrip.patience(afterExpiries: expiries) }
  }

  /// Counts what is in flight as lost when its time is over.
  ///
  /// - Throws: `unanswered` when a packet was sent as often as one may be.
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

  /// Takes what the other end says it has received.
  ///
  /// - Throws: `malformed` when it acknowledges what was not sent or grants more than its window.
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
    // One that was overtaken says nothing new.
    guard acknowledgement.next >= oldest else { return }
    markArrived(Array(oldest..<acknowledgement.next) + beyond, at: now)
  }

  /// Takes that all has arrived.
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
      // Of one that was sent twice nobody knows which arrived.
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

  /// Whether a packet counts as lost, as later ones have arrived.
  ///
  /// One that went out again has a round trip's time first: on a line that reorders much each would else be sent for each other.
  private func isOvertaken(_ flight: Flight, by newest: UInt64, at now: Duration) -> Bool {
    flight.state == .inFlight && flight.serial + UInt64(DatagramLimits.reordering) <= newest
      && (flight.transmissions == 1 || now - flight.sentAt >= roundTrip.usual)
  }

  /// Grows what may be in flight while the round trip stays short, and shrinks it otherwise.
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
