/// The receiving half of a stream over packets: puts them into order, grants credit and says what has arrived.
///
/// It holds at most its window: what arrived behind a gap, and what its user has not taken yet.
package struct DatagramAssembler: Sendable {
  private let window: Int
  /// The first packet that has not arrived.
  package private(set) var next: Int64 = 0
  /// What arrived behind it.
  private var beyond: [Int64: DatagramSegment] = [:]
  private var ready: [[UInt8]] = []
  /// Packets in order that were not taken.
  private var readyPackets = 0
  /// The first packet that was not granted.
  private var limit: Int64
  private var last: Int64?
  private var unacknowledged = 0
  /// When an acknowledgement has to go out, unless before it travels in a packet of data.
  package private(set) var acknowledgementDue: Duration?

  /// Begins with `window` packets granted.
  package init(window: Int) {
    self.window = window
    limit = Int64(window)
  }

  /// Whether the whole stream is here, taken or not.
  package var isComplete: Bool { last.map { next > $0 } ?? false }
  /// Whether there is something to take.
  package var hasReady: Bool { !ready.isEmpty }
  /// Whether packets behind the next one have arrived, which only an acknowledgement of its own can tell.
  package var hasGap: Bool { !beyond.isEmpty }
  /// Packets that are held here.
  package var heldPackets: Int { readyPackets + beyond.count }

  /// Takes a packet; one that is here already only calls for an acknowledgement.
  ///
  /// - Throws: `malformed` when it was not granted or stands behind the end of the stream.
  package mutating func receive(_ segment: DatagramSegment, at now: Duration) throws(DatagramFault) {
    guard segment.number < limit else {
      throw .malformed("packet \(segment.number) came, and those below \(limit) were granted")
    }
    guard segment.number >= next, beyond[segment.number] == nil else {
      acknowledgementDue = now
      return
    }
    if let last, segment.number > last {
      throw .malformed("packet \(segment.number) came behind the end, which is packet \(last)")
    }
    if segment.isLast {
      if let number = beyond.keys.max(), number > segment.number {
        throw .malformed("packet \(segment.number) is the end, and packet \(number) has come")
      }
      last = segment.number
    }
    let hadGap = hasGap
    beyond[segment.number] = segment
    while let segment = beyond.removeValue(forKey: next) {
      next += 1
      guard !segment.bytes.isEmpty else { continue }
      ready.append(segment.bytes)
      readyPackets += 1
    }
    unacknowledged += 1
    let isUrgent =
      hadGap || hasGap || isComplete
      || unacknowledged >= min(DatagramLimits.unacknowledged, max(1, window / 2))
    callForAcknowledgement(at: isUrgent ? now : now + DatagramLimits.acknowledgementDelay)
  }

  /// Asks for an acknowledgement no later than then.
  package mutating func callForAcknowledgement(at due: Duration) {
    acknowledgementDue = min(acknowledgementDue ?? due, due)
  }

  /// Takes what is in order; `nil` where there is nothing.
  package mutating func take(at now: Duration) -> [UInt8]? {
    guard hasReady else { return nil }
    let bytes = ready.count == 1 ? ready[0] : Array(ready.joined())
    ready = []
    readyPackets = 0
    // The other end may wait for the room; small steps travel with what is said anyway.
    if creditLimit - limit >= Int64(max(1, window / 4)) { callForAcknowledgement(at: now) }
    return bytes
  }

  /// Drops what was not taken.
  package mutating func drop() { (ready, readyPackets, beyond) = ([], 0, [:]) }

  private var creditLimit: Int64 { next + Int64(window - readyPackets) }

  /// What has arrived, to be sent now; at most `bytes` name packets behind a gap.
  package mutating func acknowledgement(atMost bytes: Int) -> DatagramAcknowledgement {
    limit = max(limit, creditLimit)
    unacknowledged = 0
    acknowledgementDue = nil
    var map = [UInt8](repeating: 0, count: min(bytes, (window + 7) / 8))
    for number in beyond.keys {
      let place = Int(number - next - 1)
      if place / 8 < map.count { map[place / 8] |= 1 << (place % 8) }
    }
    while map.last == 0 { map.removeLast() }
    return DatagramAcknowledgement(next: next, credit: Int(limit - next), beyond: map)
  }
}
