/// What a row may cost at most.
struct Aims: Sendable {
  /// Bytes of anonymous memory over idle; `nil` where it does not count.
  var memoryWhile: Int? = 16 << 20
  var memoryAfter: Int? = 4 << 20
  /// Whether an honest write may wait twice as long as when idle and 50 ms at most.
  var boundsWaits = true
  /// Milliseconds that an honest write may wait beside that, where the row itself cuts its connection.
  var extraWait = 0.0
  /// Bytes of log.
  var logBytes = 64 << 10
  /// Bytes that a neighbour may receive, where the row counts them.
  var neighbourBytes: Int?

  /// Those of any attack.
  static let usual = Aims()
  /// Those of many connections at once, from four with large groups to 256: what all peers may hold together.
  static let crowd = Aims(memoryWhile: 64 << 20)
  /// Those of a big peer's listeners for HTTP.
  static let frontDoor = Aims(memoryWhile: 32 << 20, memoryAfter: 8 << 20)
  /// Those of 64 connections with large groups: an eighth of that is what each connection takes by itself.
  static let manyTransfers = Aims(memoryWhile: 72 << 20)
  /// Those of one peer that leaves several 100,000 documents behind; the store's own memory for them stays.
  ///
  /// The store's cache of numbers takes 2 MiB, as in any store with so many documents. The marks of its pages
  /// take 32 bytes each.
  static let filling = Aims(memoryWhile: (16 << 20) + storeBytes, memoryAfter: (4 << 20) + storeBytes)
  private static let storeBytes = 3 << 20
  /// Those of one peer whose documents are as large as documents may be.
  static let large = Aims(memoryWhile: 32 << 20)

  /// Compares the figures of a row with the aims, multiplied by `scale`, or by `waitScale` for waits.
  ///
  /// - Returns: What was missed, in a few words each.
  func misses(_ figures: Figures, scale: Int, waitScale: Int) -> [String] {
    var misses = figures.faults
    if let death = figures.death { misses.append("died: \(death)") }
    if let memoryWhile, figures.memoryWhile > memoryWhile * scale { misses.append("memory while") }
    if let memoryAfter, figures.memoryAfter > memoryAfter * scale { misses.append("memory after") }
    if boundsWaits, figures.attacked.worst > longestWait(figures.idle, scale: waitScale) {
      misses.append("wait")
    }
    if figures.attacked.lost > 0 { misses.append("\(figures.attacked.lost) honest writes lost") }
    if figures.logBytes > logBytes * scale { misses.append("log") }
    if let neighbourBytes, let bytes = figures.neighbourBytes, bytes > neighbourBytes * scale {
      misses.append("neighbour's bytes")
    }
    return misses
  }

  /// Milliseconds that an honest write may wait.
  private func longestWait(_ idle: Waits, scale: Int) -> Double {
    (2 * idle.worst + 50 + extraWait) * Double(scale)
  }
}
