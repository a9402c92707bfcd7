/// One direction of a connection: a stream of bytes that arrives late, in pieces, and in order.
///
/// A lost piece is sent again, which takes the line's time twice and delays what follows. A line that breaks
/// its contract does so by its ``Garbler``.
package final class Line {
  private unowned let connection: Connection
  private let side: Int
  private let plan: LinkPlan
  private var waiting = ByteQueue()
  private var isSending = false
  private var isFinishing = false
  private var isDropped = false
  private var lastArrival: SimTime = 0
  private var underWay = 0
  private(set) var arrivedBytes = 0
  private var stalledUntil: SimTime = 0
  /// What has come while the line stands still, in order.
  private var stalled: [Arrival] = []
  private var isWaiting = false
  private var garbler = Garbler()
  private var draws: Stream

  /// Makes the direction toward an end.
  init(_ connection: Connection, toward side: Int) {
    self.connection = connection
    self.side = side
    plan = connection.link.plan
    draws = Stream(connection.world.script.seed, .line, connection.link.number, connection.number, side)
  }

  private var world: World { connection.world }

  var isIdle: Bool { waiting.isEmpty && underWay == 0 && !isSending && !garbler.isHolding }

  /// Bytes that wait for the line.
  var waitingBytes: Int { waiting.count }

  func send(_ bytes: [UInt8]) {
    guard !isDropped else { return }
    waiting.append(bytes)
    pump()
  }

  /// Tells the other end that nothing follows, after all that was sent.
  func finish() {
    isFinishing = true
    pump()
  }

  /// Loses everything, and all that is still to be sent.
  func drop() {
    isDropped = true
    waiting = ByteQueue()
    underWay -= stalled.count
    stalled = []
    _ = garbler.end()
  }

  func stall(until time: SimTime) { stalledUntil = max(stalledUntil, time) }

  /// Breaks the line's contract when this many more bytes have arrived.
  func garble(_ how: Garbling, after count: Int) { garbler.add(how, at: arrivedBytes + count) }

  /// Ends all faults; what was held back arrives.
  func heal() {
    stalledUntil = 0
    if let held = garbler.end() { connection.arrive(held, at: side) }
    deliverStalled()
  }

  /// Puts the next frame on the line, as soon as that is free.
  private func pump() {
    guard !isSending, !isDropped else { return }
    if waiting.isEmpty {
      guard isFinishing else { return }
      isFinishing = false
      return transport([], isEnd: true)
    }
    let frame = waiting.removeFirst(plan.frameBytes)
    var copies = 1
    while plan.loss > 0, copies < 8, draws.int(below: 1_000) < plan.loss { copies += 1 }
    if copies > 1 { world.reach(.sentAgain) }
    isSending = true
    let time = SimTime(copies * frame.count) * 1_000_000 / SimTime(max(plan.bytesPerSecond, 1))
    // A frame that is lost is missed after about a round trip.
    let late = SimTime((copies - 1) * (2 * plan.latency + 10_000))
    world.after(time) { [weak self] in
      guard let self else { return }
      isSending = false
      transport(frame, isEnd: false, late: late)
      pump()
    }
  }

  private func transport(_ frame: [UInt8], isEnd: Bool, late: SimTime = 0) {
    guard !isDropped else { return }
    let delay = SimTime(plan.latency + draws.int(below: plan.jitter + 1)) + late
    lastArrival = max(lastArrival + 1, world.now + delay)
    underWay += 1
    let frame = Arrival(bytes: frame, isEnd: isEnd)
    world.after(lastArrival - world.now) { [weak self] in self?.arrive(frame) }
  }

  private struct Arrival {
    let bytes: [UInt8]
    let isEnd: Bool
  }

  private func arrive(_ frame: Arrival) {
    guard !isDropped else { return underWay -= 1 }
    stalled.append(frame)
    deliverStalled()
  }

  /// Delivers what has come, unless the line stands still.
  private func deliverStalled() {
    guard world.now >= stalledUntil else {
      world.reach(.stalled)
      guard !isWaiting else { return }
      isWaiting = true
      return world.after(stalledUntil - world.now) { [weak self] in
        self?.isWaiting = false
        self?.deliverStalled()
      }
    }
    while !stalled.isEmpty, !isDropped { deliver(stalled.removeFirst()) }
  }

  private func deliver(_ frame: Arrival) {
    underWay -= 1
    if frame.isEnd { return connection.finished(side) }
    let count = connection.admits(frame.bytes.count, on: self)
    if count < frame.bytes.count { world.reach(.brokeWithinFrame) }
    pass(count == frame.bytes.count ? frame.bytes : Array(frame.bytes.prefix(count)))
    connection.checkCut(self)
  }

  private func pass(_ bytes: [UInt8]) {
    let (chunks, done) = garbler.pass(bytes, at: arrivedBytes)
    arrivedBytes += bytes.count
    if let done { connection.noteGarbled(done) }
    for chunk in chunks { connection.arrive(chunk, at: side) }
  }
}

/// Bytes in the order in which they came, taken off at the front.
struct ByteQueue {
  private var blocks: [[UInt8]] = []
  private var first = 0
  private var offset = 0
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  mutating func append(_ bytes: [UInt8]) {
    guard !bytes.isEmpty else { return }
    blocks.append(bytes)
    count += bytes.count
  }

  /// Takes at most `limit` bytes off the front.
  mutating func removeFirst(_ limit: Int) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(min(limit, count))
    while result.count < limit, first < blocks.count {
      let block = blocks[first]
      let taken = min(limit - result.count, block.count - offset)
      result += block[offset..<offset + taken]
      offset += taken
      if offset == block.count {
        first += 1
        offset = 0
      }
    }
    if first > 64 {
      blocks.removeFirst(first)
      first = 0
    }
    count -= result.count
    return result
  }
}
