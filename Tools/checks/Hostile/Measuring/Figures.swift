/// What one run of a row came to.
struct Figures {
  /// Bytes of anonymous memory over idle: the most while the attack lasted, and what stays.
  var memoryWhile = 0
  var memoryAfter = 0
  var processorSeconds = 0.0
  /// Bytes of disk and of log over idle.
  var diskBytes = 0
  var logBytes = 0
  /// Bytes that the attackers sent.
  var sentBytes = 0
  var idle = Waits()
  var attacked = Waits()
  /// How the victim ended, if it did.
  var death: String?
  /// What else is not as it should be.
  var faults: [String] = []
  /// Bytes that a neighbour received, where the row counts them.
  var neighbourBytes: Int?
}

/// How long honest writes waited, in milliseconds.
struct Waits {
  var median = 0.0
  var worst = 0.0
  /// Writes that did not come in at all.
  var lost = 0

  init() {}

  init(nanoseconds: [Int64], lost: Int = 0) {
    let sorted = nanoseconds.sorted()
    median = sorted.isEmpty ? 0 : Double(sorted[sorted.count / 2]) / 1e6
    worst = Double(sorted.last ?? 0) / 1e6
    self.lost = lost
  }
}

extension Array {
  /// The middle one of what `value` makes of the elements; 0 of none.
  func median(_ value: (Element) -> Double) -> Double {
    let sorted = map(value).sorted()
    return sorted.isEmpty ? 0 : sorted[sorted.count / 2]
  }

  /// The middle one of what `value` makes of the elements; 0 of none.
  func median(_ value: (Element) -> Int) -> Int { Int(median { Double(value($0)) }) }
}

extension Figures {
  /// The median of each figure; a death or a fault of one run is one of all.
  init(medianOf runs: [Figures]) {
    memoryWhile = runs.median(\.memoryWhile)
    memoryAfter = runs.median(\.memoryAfter)
    processorSeconds = runs.median(\.processorSeconds)
    diskBytes = runs.median(\.diskBytes)
    logBytes = runs.median(\.logBytes)
    sentBytes = runs.median(\.sentBytes)
    idle.median = runs.median(\.idle.median)
    idle.worst = runs.median(\.idle.worst)
    attacked.median = runs.median(\.attacked.median)
    attacked.worst = runs.median(\.attacked.worst)
    attacked.lost = runs.median(\.attacked.lost)
    death = runs.lazy.compactMap(\.death).first
    for fault in runs.flatMap(\.faults) where !faults.contains(fault) { faults.append(fault) }
    if runs.contains(where: { $0.neighbourBytes != nil }) {
      neighbourBytes = runs.median { $0.neighbourBytes ?? 0 }
    }
  }
}
