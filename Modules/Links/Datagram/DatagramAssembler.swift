/// The receiving half of a stream over packets: it orders packets, grants credit and acknowledges.
///
/// It holds at most its window: packets after a gap, and bytes that its user has not taken yet.
package struct DatagramAssembler: Sendable {
  private let window: Int
  /// The first packet that has not arrived.
  package private(set) var next: Int64 = 0
  /// Packets that arrived after it.
  private var beyond: [Int64: DatagramSegment] = [:]
  private var ready: [[UInt8]] = []
  /// Packets in order that were not taken.
  private var readyPackets = 0
  /// The first packet that was not granted.
  private var limit: Int64
  private var last: Int64?
  private var unacknowledged = 0
  /// When an acknowledgement must be sent, unless a data packet has carried it before.
  package private(set) var acknowledgementDue: Duration?

  /// Starts with `window` packets granted.
  package init(window: Int) {
    self.window = window
    limit = Int64(window)
  }

  /// Whether the whole stream has arrived, taken or not.
  package var isComplete: Bool { last.map { next > $0 } ?? false }
  /// Whether there are bytes to take.
  package var hasReady: Bool { !ready.isEmpty }
  /// Whether packets after the next one have arrived.
  ///
  /// Only a separate acknowledgement can report that.
  package var hasGap: Bool { !beyond.isEmpty }
  /// Packets that are held here.
  package var heldPackets: Int { readyPackets + beyond.count }

  /// Takes a packet; a duplicate only requests an acknowledgement.
  ///
  /// - Throws: `malformed` when the packet was not granted or is beyond the end of the stream.
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

  /// Requests an acknowledgement at `due` at the latest.
  package mutating func callForAcknowledgement(at due: Duration) {
    acknowledgementDue = min(acknowledgementDue ?? due, due)
  }

  /// Takes the bytes that are in order; `nil` when there are none.
  package mutating func take(at now: Duration) -> [UInt8]? {
    guard hasReady else { return nil }
    let bytes = ready.count == 1 ? ready[0] : Array(ready.joined())
    ready = []
    readyPackets = 0
    // The other end may wait for room. Small increments are sent with other packets.
    if creditLimit - limit >= Int64(max(1, window / 4)) { callForAcknowledgement(at: now) }
    return bytes
  }

  /// Drops everything that was not taken.
  package mutating func drop() { (ready, readyPackets, beyond) = ([], 0, [:]) }

  private var creditLimit: Int64 { next + Int64(window - readyPackets) }

  /// The acknowledgement to send now; at most `bytes` bytes of it name packets after a gap.
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
