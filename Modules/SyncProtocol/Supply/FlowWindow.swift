/// How much may be on its way unacknowledged: about half a second of what the link and the receiver take.
///
/// The rate is that of acknowledgements, so a slow disk at the other end counts like a slow link.
struct FlowWindow {
  /// Link time that the window holds, beside the round trip.
  static let span = Duration.milliseconds(500)
  /// Acknowledgements are gathered for this long before they count as a rate.
  static let sampleSpan = Duration.milliseconds(50)
  private(set) var windowBytes: Int
  private(set) var sent = Acknowledgement()
  private(set) var acknowledged = Acknowledgement()
  private var sampleStart: Duration
  private var sampleBytes: UInt64 = 0
  private var wasFull = false
  /// Bytes a second, as last sampled.
  private var rate: Double?
  /// A frame whose acknowledgement tells the delay beside the link's own work on what was in flight.
  private var probe: (wireBytes: UInt64, at: Duration, bytesInFlight: Int)?
  private var delay: Duration?

  init(bytes: Int, now: Duration) {
    windowBytes = min(max(bytes, SyncLimits.windowBytes.lowerBound), SyncLimits.windowBytes.upperBound)
    sampleStart = now
  }

  var wireBytesInFlight: Int { Int(clamping: sent.wireBytes &- acknowledged.wireBytes) }
  var plainBytesInFlight: Int { Int(clamping: sent.plainBytes &- acknowledged.plainBytes) }
  var hasRoom: Bool { wireBytesInFlight < windowBytes && plainBytesInFlight < SyncLimits.plainWindowBytes }

  /// Plain bytes of a piece: about a tenth of a second of the link, packed to half.
  var pieceBytes: Int { min(max(windowBytes / 3, 4 << 10), SyncLimits.smallGroupBytes) }

  mutating func didSend(wireBytes: Int, plainBytes: Int, groups: Int, now: Duration) {
    if wireBytesInFlight == 0 {
      sampleStart = now
      sampleBytes = 0
    }
    sent.wireBytes += UInt64(wireBytes)
    sent.plainBytes += UInt64(plainBytes)
    sent.groups += UInt64(groups)
    if probe == nil { probe = (sent.wireBytes, now, wireBytesInFlight) }
    if !hasRoom { wasFull = true }
  }

  /// Takes the receiver's totals.
  ///
  /// - Throws: `malformed` when they go back or beyond what was sent.
  mutating func take(_ totals: Acknowledgement, now: Duration) throws(SyncError) {
    guard totals.wireBytes >= acknowledged.wireBytes, totals.wireBytes <= sent.wireBytes,
      totals.plainBytes >= acknowledged.plainBytes, totals.plainBytes <= sent.plainBytes,
      totals.groups >= acknowledged.groups, totals.groups <= sent.groups
    else { throw SyncError(.malformed, "an acknowledgement of what was not sent") }
    sampleBytes += totals.wireBytes - acknowledged.wireBytes
    acknowledged = totals
    if let probe, totals.wireBytes >= probe.wireBytes {
      if let rate, rate >= 1 {
        let work = Duration.seconds(Double(probe.bytesInFlight) / rate)
        let rest = max(now - probe.at - work, .zero)
        delay = min(delay ?? rest, rest)
      }
      self.probe = nil
    }
    adapt(now)
  }

  private mutating func adapt(_ now: Duration) {
    let elapsed = now - sampleStart
    guard elapsed >= Self.sampleSpan else { return }
    if wasFull {
      let measured = Double(sampleBytes) / (elapsed / .seconds(1))
      rate = rate.map { ($0 + measured) / 2 } ?? measured
      let holds = (Self.span + min(delay ?? .zero, .seconds(2))) / .seconds(1)
      let target = (rate ?? measured) * holds
      let bounded = min(max(target, Double(windowBytes) / 2), Double(windowBytes) * 4)
      windowBytes = min(
        max(Int(bounded), SyncLimits.windowBytes.lowerBound), SyncLimits.windowBytes.upperBound)
    }
    sampleStart = now
    sampleBytes = 0
    wasFull = !hasRoom
  }
}
