/// Whose turn it is on the link: small groups go first, and large ones get a tenth of it beside them.
///
/// Source: Shreedhar and Varghese, "Efficient Fair Queuing Using Deficit Round Robin", SIGCOMM 1995.
struct LinkTurns {
  /// How long one piece may occupy the link; when that breaks, the piece is sent again.
  static let pieceSpan = Duration.milliseconds(50)
  /// What of the window chunks leave free while small groups come by.
  static let spareSpan = Duration.milliseconds(25)
  /// For how long after a small group another one is expected.
  static let expectation = Duration.seconds(2)
  /// Large groups get one byte for this many of small ones.
  private static let share = 9

  private(set) var fragments = PackingRatio()
  private(set) var chunks = PackingRatio()
  /// Bytes on the wire that are due to large groups.
  private var deficit = 0
  /// The size of the last chunk, which the deficit has to reach.
  private var lastChunk = 0
  private var lastFragment: Duration?

  /// Whether a chunk goes before the fragment that waits.
  var isChunkDue: Bool { deficit > max(lastChunk, SyncLimits.pieceBytes) }

  /// Bytes of the window that large groups leave to small ones while those come by, so that less waits on the line.
  func sparedBytes(_ window: FlowWindow, _ now: Duration) -> Int {
    guard let rate = window.rate, isExpecting(now) else { return 0 }
    return min(Int(rate * (Self.spareSpan / .seconds(1))), window.windowBytes / 4)
  }

  private func isExpecting(_ now: Duration) -> Bool {
    guard let lastFragment else { return false }
    return now - lastFragment < Self.expectation
  }

  mutating func didSendFragment(plain: Int, wire: Int, besideTransfers: Bool, now: Duration) {
    fragments.note(plain: plain, wire: wire)
    lastFragment = now
    if besideTransfers { deficit += wire / Self.share }
  }

  mutating func didSendChunk(plain: Int, wire: Int) {
    chunks.note(plain: plain, wire: wire)
    lastChunk = wire
    deficit = max(0, deficit - wire)
  }
}

/// What becomes of plain bytes on the wire, as lately measured.
struct PackingRatio {
  /// Bytes on the wire for each plain one.
  private var ratio = 0.5

  mutating func note(plain: Int, wire: Int) {
    // The frame's own bytes say little of what is to come.
    guard plain >= 256 else { return }
    ratio = ratio * 0.75 + min(max(Double(wire) / Double(plain), 0.01), 1.1) * 0.25
  }

  func plainBytes(_ wire: Int) -> Int { Int(Double(wire) / ratio) }
  func wireBytes(_ plain: Int) -> Int { Int(Double(plain) * ratio) }
}
