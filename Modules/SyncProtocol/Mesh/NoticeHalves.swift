import CRDTCore

/// The halves of one role in a session, one for each collection that the interest covers.
struct NoticeHalves {
  private let role: NoticeHalf.Role
  private let tuning: SyncTuning
  private var halves: [TextKey: NoticeHalf] = [:]
  /// The highest number used so far: a new half continues from it.
  private var lastNumber: UInt64 = 0
  private var visits = VisitAllowance()

  init(_ role: NoticeHalf.Role, _ tuning: SyncTuning) {
    self.role = role
    self.tuning = tuning
  }

  /// The half of a collection, which is created if it is missing.
  subscript(_ collection: String) -> NoticeHalf {
    get { halves[collection] ?? NoticeHalf(role, above: lastNumber, tuning) }
    _modify {
      yield &halves[TextKey(collection), default: NoticeHalf(role, above: lastNumber, tuning)]
    }
  }

  /// Whether anything waits for an answer.
  var isWaiting: Bool { halves.values.contains(where: \.isWaiting) }

  /// Whether all held documents of a collection wait for an answer.
  var awaitsAll: Bool { halves.values.contains(where: \.awaitsAll) }

  /// Bytes of all filters in memory.
  var filterBytes: Int { halves.values.reduce(0) { $0 + $1.filterBytes } }

  /// Approximate memory of all filters and ids.
  var heldBytes: Int { halves.values.reduce(0) { $0 + $1.heldBytes } }

  /// How many documents wait for answers.
  var waitingCount: Int { halves.values.reduce(0) { $0 + $1.waitingCount } }

  /// How many bytes one more filter may take.
  var room: Int { max(SyncLimits.roleFilterBytes - filterBytes, 0) }

  /// Returns whether the peer's request for a filter of this number of records may be served now.
  ///
  /// If so, the records count as visited twice: once to count them, and once to add them to the filter.
  mutating func mayMakeFilter(ofAtMost records: UInt64, now: Duration) -> Bool {
    visits.spend(records.multiplied(by: 2).adding(SyncLimits.leastFilterVisits), now: now)
  }

  /// Starts over in some collections, or in all.
  ///
  /// - Returns: The requests that the other side waits for in vain, by collection.
  mutating func reset(where isChanged: (TextKey) -> Bool = { _ in true }) -> [(String, UInt64)] {
    var unmade: [(String, UInt64)] = []
    for name in halves.keys.filter(isChanged).sorted() {
      guard var half = halves.removeValue(forKey: name) else { continue }
      unmade += half.reset().map { (name.text, $0) }
      lastNumber = max(lastNumber, half.lastNumber)
    }
    return unmade
  }
}

/// Limits the records visited for repeated requests of a peer: a burst, then a fixed rate per second.
private struct VisitAllowance {
  private var left = SyncLimits.filterVisits
  private var filledAt: Duration?

  mutating func spend(_ records: UInt64, now: Duration) -> Bool {
    let (seconds, attoseconds) = (now - (filledAt ?? now)).components
    let span = Double(seconds) + Double(attoseconds) / 1e18
    let more = min(span * Double(SyncLimits.filterVisitsPerSecond), Double(SyncLimits.filterVisits))
    left = min(left + Int(more), SyncLimits.filterVisits)
    filledAt = now
    guard left > 0 else { return false }
    // One large collection may exceed the remaining allowance.
    left -= Int(min(records, UInt64(Int.max / 2)))
    return true
  }
}
