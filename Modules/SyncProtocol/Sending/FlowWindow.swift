/// How much may be on its way unacknowledged: what the link and the receiver take in a round trip and a little more.
///
/// The rate is that of acknowledgements, so a slow disk at the other end counts like a slow link. What the window
/// holds beyond the round trip waits on the line, and so does everything that is sent after it: hence so little.
///
/// Source of the principle: Cardwell et al., "BBR: Congestion-Based Congestion Control", ACM Queue 2016.
struct FlowWindow {
  /// Link time that the window holds, beside the round trip: a line that sends a lost frame again, perhaps twice,
  /// does not run dry meanwhile.
  static let queueSpan = Duration.milliseconds(180)
  /// Acknowledgements are gathered for this long, or a round trip, before they count as a rate.
  static let sampleSpan = Duration.milliseconds(50)
  /// An acknowledgement that is later than the earliest by more than this ends the fast start.
  static let startDelay = Duration.milliseconds(100)
  /// How long the least round trip counts before a newer, far longer one takes its place.
  static let roundTripSpan = Duration.seconds(10)

  private(set) var windowBytes: Int
  private(set) var sent = Acknowledgement()
  private(set) var acknowledged = Acknowledgement()
  /// Bytes a second, as last sampled.
  private(set) var rate: Double?
  /// The frame that was acknowledged soonest.
  private var soonest: Passage?
  /// Whether the window still grows with each acknowledgement, because nothing has slowed down yet.
  private(set) var isStarting = true
  /// What the receiver has room for, in plain bytes beyond what it has acknowledged, once it has said so.
  private var credit = SyncLimits.plainWindowBytes
  /// Plain bytes of whole groups that were not sent, as the receiver has them, and wait there to be applied.
  private var reused: (inFlight: Int, groups: WorkQueue<(number: UInt64, bytes: Int)>) = (0, WorkQueue())
  /// When the bytes of the current sample began to count; `nil` until the first acknowledgement after idleness.
  private var sampleStart: Duration?
  private var sampleBytes: UInt64 = 0
  private var wasFull = false
  /// When everything was acknowledged last.
  private var idleSince: Duration = .zero
  /// A frame whose acknowledgement tells a round trip.
  private var probe: (wireBytes: UInt64, bytesInFlight: Int, at: Duration)?
  /// Samples of the fast start, one after another, that got no more through.
  private var plateaus = 0
  /// The same since then.
  private var recent: (soonest: Passage?, since: Duration)

  /// How long a frame took until it was acknowledged, and what was on the line until it was over.
  private struct Passage {
    let delay: Duration
    let bytesInFlight: Int

    /// The way alone, without the time on the line.
    ///
    /// No more is taken off than half of what the window adds, so that a rate measured too low cannot make the
    /// window ever smaller.
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

  /// The least time from a frame's sending to its acknowledgement, less its time on the line.
  var roundTrip: Duration? { soonest?.roundTrip(rate) }

  var wireBytesInFlight: Int { Int(clamping: sent.wireBytes &- acknowledged.wireBytes) }
  var plainBytesInFlight: Int { Int(clamping: sent.plainBytes &- acknowledged.plainBytes) }
  var hasRoom: Bool { wireBytesInFlight < windowBytes && plainBytesInFlight < credit }

  /// Whether a frame of about that many bytes fits whole; one always does when nothing is in flight.
  func hasRoom(for wireBytes: Int) -> Bool {
    // What the receiver has itself takes next to no bytes: one group of that at a time until it says what it takes.
    let taken = plainBytesInFlight + reused.inFlight
    guard taken < credit, reused.inFlight == 0 || acknowledged.wireBytes > 0 else {
      return wireBytesInFlight == 0 && credit > 0
    }
    return wireBytesInFlight == 0 || wireBytesInFlight + wireBytes <= windowBytes
  }

  /// Bytes on the wire of a piece that occupies the link for `span`.
  func pieceBytes(_ span: Duration) -> Int {
    // Several pieces fit the window, or it would be idle for a round trip after each.
    let part = windowBytes / 4
    // Little at first on what may be a slow link: the first acknowledgement tells the round trip.
    guard let rate else {
      return max(windowBytes <= SyncLimits.longLinkWindowBytes * 2 ? part : part * 2, SyncLimits.pieceBytes)
    }
    return min(max(Int(rate * (span / .seconds(1))), SyncLimits.pieceBytes), max(part, SyncLimits.pieceBytes))
  }

  mutating func didSend(wireBytes: Int, plainBytes: Int, groups: Int, now: Duration) {
    if wireBytesInFlight == 0, now > idleSince {
      // The first acknowledgement is a round trip away, which is no part of the rate.
      sampleStart = nil
      wasFull = false
    }
    sent.wireBytes += UInt64(wireBytes)
    sent.plainBytes += UInt64(plainBytes)
    sent.groups += UInt64(groups)
    if probe == nil { probe = (sent.wireBytes, wireBytesInFlight, now) }
    if !hasRoom { wasFull = true }
  }

  /// Takes note that the last group that was sent has so many bytes that the receiver had.
  mutating func didReuse(_ bytes: Int) {
    reused.inFlight += bytes
    reused.groups.append((sent.groups, bytes))
  }

  /// Whether the link was ready for more than the window allowed.
  mutating func noteFull() { wasFull = true }

  /// Takes the receiver's totals.
  ///
  /// - Throws: `malformed` when they go back or beyond what was sent.
  mutating func take(_ totals: Acknowledgement, now: Duration) throws(SyncError) {
    guard totals.wireBytes >= acknowledged.wireBytes, totals.wireBytes <= sent.wireBytes,
      totals.plainBytes >= acknowledged.plainBytes, totals.plainBytes <= sent.plainBytes,
      totals.groups >= acknowledged.groups, totals.groups <= sent.groups
    else { throw SyncError(.malformed, "an acknowledgement of what was not sent") }
    let news = totals.wireBytes - acknowledged.wireBytes
    acknowledged = totals
    while let group = reused.groups.first, group.number <= totals.groups {
      _ = reused.groups.removeFirst()
      reused.inFlight -= group.bytes
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
    // What this window itself keeps waiting on the line is no sign of a longer way.
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
        // A sender that gets more through with each sample has not met the link's limit.
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
