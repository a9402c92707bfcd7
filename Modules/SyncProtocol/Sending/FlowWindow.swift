/// The flow window, which limits the bytes in flight.
///
/// The limit is what the link and the receiver process in a round trip, and a little more.
///
/// The rate is that of the acknowledgements, so a slow disk at the receiver counts like a slow link.
/// Whatever the window holds beyond the round trip waits in the link's queue, and delays everything sent
/// later. Therefore that surplus is small.
///
/// Source of the principle: Cardwell et al., "BBR: Congestion-Based Congestion Control", ACM Queue 2016.
struct FlowWindow {
  /// Link time that the window holds beyond the round trip.
  ///
  /// A link that retransmits a lost frame, perhaps twice, does not run dry meanwhile.
  static let queueSpan = Duration.milliseconds(180)
  /// Acknowledgements are added up for at least this long, or a round trip, before they count as a rate.
  static let sampleSpan = Duration.milliseconds(50)
  /// An acknowledgement that is later than the earliest one by more than this ends the fast start.
  static let startDelay = Duration.milliseconds(100)
  /// How long the shortest round trip is valid before a newer, much longer one replaces it.
  static let roundTripSpan = Duration.seconds(10)

  private(set) var windowBytes: Int
  private(set) var sent = Acknowledgement()
  private(set) var acknowledged = Acknowledgement()
  /// Bytes per second, as last measured.
  private(set) var rate: Double?
  /// The frame with the shortest time until its acknowledgement.
  private var soonest: Passage?
  /// Whether the window still grows with each acknowledgement, since the link's limit is not reached yet.
  private(set) var isStarting = true
  /// The receiver's credit: plain bytes that it accepts beyond what it has acknowledged.
  private var credit = SyncLimits.plainWindowBytes
  /// Plain bytes of large transactions that were not sent, since the receiver has them staged.
  ///
  /// The receiver must only apply them.
  private var reused: (inFlight: Int, transactions: WorkQueue<(number: UInt64, bytes: Int)>) = (
    0, WorkQueue()
  )
  /// The start of the current sample; `nil` until the first acknowledgement after an idle time.
  private var sampleStart: Duration?
  private var sampleBytes: UInt64 = 0
  private var wasFull = false
  /// The last time when nothing was in flight.
  private var idleSince: Duration = .zero
  /// A frame whose acknowledgement measures a round trip.
  private var probe: (wireBytes: UInt64, bytesInFlight: Int, at: Duration)?
  /// The number of consecutive samples of the fast start without a higher rate.
  private var plateaus = 0
  /// The frame with the shortest time since then.
  private var recent: (soonest: Passage?, since: Duration)

  /// The time from a frame's sending to its acknowledgement, and the bytes in flight before it.
  private struct Passage {
    let delay: Duration
    let bytesInFlight: Int

    /// Returns the round trip without the time that the frame waited in the link's queue.
    ///
    /// At most half of the window's surplus is subtracted. Otherwise a rate measured too low could shrink
    /// the window again and again.
    func roundTrip(_ rate: Double?) -> Duration {
      guard let rate, rate >= 1 else { return delay }
      let onLine = Duration.seconds(Double(bytesInFlight) / rate)
      return max(delay - min(onLine, FlowWindow.queueSpan / 2), .microseconds(10))
    }
  }

  init(bytes: Int, now: Duration) {
    windowBytes = min(max(bytes, SyncLimits.windowBytes.lowerBound), SyncLimits.windowBytes.upperBound)
    recent = (nil, now)
  }

  /// The shortest time from a frame's sending to its acknowledgement, without its time in the link's queue.
  var roundTrip: Duration? { soonest?.roundTrip(rate) }

  var wireBytesInFlight: Int { Int(clamping: sent.wireBytes &- acknowledged.wireBytes) }
  var plainBytesInFlight: Int { Int(clamping: sent.plainBytes &- acknowledged.plainBytes) }
  var hasRoom: Bool { wireBytesInFlight < windowBytes && plainBytesInFlight < credit }

  /// Returns whether a frame of about this many bytes fits as a whole.
  ///
  /// One frame always fits when nothing is in flight.
  func hasRoom(for wireBytes: Int) -> Bool {
    // Staged bytes take almost no link time. Only one such transaction is sent until the first
    // acknowledgement.
    let used = plainBytesInFlight + reused.inFlight
    guard used < credit, reused.inFlight == 0 || acknowledged.wireBytes > 0 else {
      return wireBytesInFlight == 0 && credit > 0
    }
    return wireBytesInFlight == 0 || wireBytesInFlight + wireBytes <= windowBytes
  }

  /// Returns the wire bytes of a chunk or fragment that occupies the link for `span`.
  func pieceBytes(_ span: Duration) -> Int {
    // Several pieces must fit into the window, or the link would idle for a round trip after each.
    let quarter = windowBytes / 4
    // Little at first on a link that may be slow: the first acknowledgement measures the round trip.
    guard let rate else {
      return max(
        windowBytes <= SyncLimits.longLinkWindowBytes * 2 ? quarter : quarter * 2, SyncLimits.pieceBytes)
    }
    return min(
      max(Int(rate * (span / .seconds(1))), SyncLimits.pieceBytes), max(quarter, SyncLimits.pieceBytes))
  }

  mutating func didSend(wireBytes: Int, plainBytes: Int, transactions: Int, now: Duration) {
    if wireBytesInFlight == 0, now > idleSince {
      // The first acknowledgement comes a round trip later, which is no part of the rate.
      sampleStart = nil
      wasFull = false
    }
    sent.wireBytes += UInt64(wireBytes)
    sent.plainBytes += UInt64(plainBytes)
    sent.transactions += UInt64(transactions)
    if probe == nil { probe = (sent.wireBytes, wireBytesInFlight, now) }
    if !hasRoom { wasFull = true }
  }

  /// Records that the receiver already had this many bytes of the last transaction that was sent.
  mutating func didReuse(_ bytes: Int) {
    reused.inFlight += bytes
    reused.transactions.append((sent.transactions, bytes))
  }

  /// Records that the link was ready for more than the window allowed.
  mutating func noteFull() { wasFull = true }

  /// Records the receiver's acknowledged totals.
  ///
  /// - Throws: `malformed` when they decrease or exceed what was sent.
  mutating func receive(_ totals: Acknowledgement, now: Duration) throws(SyncError) {
    guard totals.isAhead(of: acknowledged), sent.isAhead(of: totals) else {
      throw SyncError(.malformed, "an acknowledgement of what was not sent")
    }
    let news = totals.wireBytes - acknowledged.wireBytes
    acknowledged = totals
    while let transaction = reused.transactions.first, transaction.number <= totals.transactions {
      _ = reused.transactions.removeFirst()
      reused.inFlight -= transaction.bytes
    }
    credit = Int(min(totals.room, UInt64(SyncLimits.plainWindowBytes)))
    if wireBytesInFlight == 0 { idleSince = now + .milliseconds(1) }
    if let probe, totals.wireBytes >= probe.wireBytes {
      self.probe = nil
      note(Passage(delay: now - probe.at, bytesInFlight: probe.bytesInFlight), now)
    }
    guard news > 0 else { return }
    if isStarting, wasFull { resize(to: Double(windowBytes) + Double(news)) }
    guard let start = sampleStart else {
      sampleStart = now
      sampleBytes = 0
      return
    }
    sampleBytes += news
    adapt(now, since: start)
  }

  private mutating func note(_ passage: Passage, _ now: Duration) {
    if let soonest, isStarting, wasFull, passage.delay > soonest.delay + Self.startDelay {
      isStarting = false
    }
    soonest = earlier(soonest, passage)
    recent.soonest = earlier(recent.soonest, passage)
    guard now - recent.since >= Self.roundTripSpan, let latest = recent.soonest else { return }
    // A delay that this window itself causes in the link's queue is no sign of a longer path.
    if let roundTrip, latest.roundTrip(rate) > roundTrip + Self.queueSpan + .milliseconds(20) {
      soonest = latest
    }
    recent = (nil, now)
  }

  private func earlier(_ a: Passage?, _ b: Passage) -> Passage {
    guard let a, a.roundTrip(rate) <= b.roundTrip(rate) else { return b }
    return a
  }

  private mutating func adapt(_ now: Duration, since start: Duration) {
    let elapsed = now - start
    guard elapsed >= max(Self.sampleSpan, min(roundTrip ?? .zero, .seconds(2))) else { return }
    if wasFull {
      let measured = Double(sampleBytes) / (elapsed / .seconds(1))
      if isStarting {
        // A sender whose rate still grows with each sample has not reached the link's limit.
        plateaus = measured < (rate ?? 0) * 1.25 ? plateaus + 1 : 0
        isStarting = plateaus < 2
        rate = max(rate ?? measured, measured)
      } else {
        rate = rate.map { $0 < measured ? ($0 + measured) / 2 : ($0 * 7 + measured) / 8 } ?? measured
      }
      if !isStarting {
        let target =
          (rate ?? measured) * ((Self.queueSpan + min(roundTrip ?? .zero, .seconds(2))) / .seconds(1))
        resize(to: min(max(target, Double(windowBytes) / 2), Double(windowBytes) * 2))
      }
    }
    sampleStart = now
    sampleBytes = 0
    wasFull = !hasRoom
  }

  private mutating func resize(to bytes: Double) {
    windowBytes = min(
      max(Int(bytes), SyncLimits.windowBytes.lowerBound), SyncLimits.windowBytes.upperBound)
  }
}
