/// The scheduler of the link: small transactions go first, and large transactions get a tenth of the link
/// beside them.
///
/// Source: Shreedhar and Varghese, "Efficient Fair Queuing Using Deficit Round Robin", SIGCOMM 1995.
struct LinkScheduler {
  /// How long one chunk or fragment may occupy the link.
  ///
  /// As much is lost when the link breaks.
  static let pieceSpan = Duration.milliseconds(50)
  /// Link time of the window that chunks leave free while small transactions are frequent.
  static let spareSpan = Duration.milliseconds(25)
  /// How long after a small transaction another one is expected.
  static let expectation = Duration.seconds(2)
  /// Large transactions get one byte for this many bytes of small transactions.
  private static let share = 9

  private(set) var fragments = PackingRatio()
  private(set) var chunks = PackingRatio()
  /// Wire bytes that large transactions are owed.
  private var deficit = 0
  /// The size of the last chunk; the next one is due when the deficit exceeds it.
  private var lastChunk = 0
  private var lastFragment: Duration?

  /// Whether a chunk is sent before the waiting fragment.
  var isChunkDue: Bool { deficit > max(lastChunk, SyncLimits.pieceBytes) }

  /// Returns the window bytes that large transactions leave to small ones while those are expected.
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

/// The recently measured compression ratio.
struct PackingRatio {
  /// Wire bytes per plain byte.
  private var ratio = 0.5

  mutating func note(plain: Int, wire: Int) {
    // In a short frame, the head's bytes would distort the ratio.
    guard plain >= 256 else { return }
    ratio = ratio * 0.75 + min(max(Double(wire) / Double(plain), 0.01), 1.1) * 0.25
  }

  func plainBytes(_ wire: Int) -> Int { Int(Double(wire) / ratio) }
  func wireBytes(_ plain: Int) -> Int { Int(Double(plain) * ratio) }
}
