import CRDTCore

/// The halves of one role in a session, one for each collection that the interest covers.
struct Tellings {
  private let role: Telling.Role
  private let tuning: SyncTuning
  private var halves: [TextKey: Telling] = [:]
  /// The last number that any of them has used: a half that is made anew goes on from there.
  private var lastNumber: UInt64 = 0
  private var visits = VisitAllowance()

  init(_ role: Telling.Role, _ tuning: SyncTuning) {
    self.role = role
    self.tuning = tuning
  }

  /// The half of a collection; made where there is none.
  subscript(_ collection: String) -> Telling {
    get { halves[collection] ?? Telling(role, above: lastNumber, tuning) }
    _modify {
      yield &halves[TextKey(collection), default: Telling(role, above: lastNumber, tuning)]
    }
  }

  /// Whether anything waits for an answer.
  var isWaiting: Bool { halves.values.contains(where: \.isWaiting) }

  /// Whether all that is held of a collection waits for an answer.
  var awaitsAll: Bool { halves.values.contains(where: \.awaitsAll) }

  /// Bytes of all filters in memory.
  var filterBytes: Int { halves.values.reduce(0) { $0 + $1.filterBytes } }

  /// Bytes in memory of all filters and ids, about.
  var heldBytes: Int { halves.values.reduce(0) { $0 + $1.heldBytes } }

  /// How many documents wait for answers.
  var waitingCount: Int { halves.values.reduce(0) { $0 + $1.waitingCount } }

  /// Bytes that one more filter may take.
  var room: Int { max(SyncLimits.roleFilterBytes - filterBytes, 0) }

  /// Whether a filter of so many records may be made now because the peer asks for it; then they count as visited, once
  /// to count what goes in, and once to put it in.
  mutating func mayMakeFilter(ofAtMost records: UInt64, now: Duration) -> Bool {
    visits.take(records.multiplied(by: 2).adding(SyncLimits.leastFilterVisits), now: now)
  }

  /// Begins anew in some collections, or in all.
  ///
  /// - Returns: The asks that the other side waits for in vain, by collection.
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

/// How many records may be visited for what a peer asks for again and again: so many at once, then so many a second.
private struct VisitAllowance {
  private var left = SyncLimits.filterVisits
  private var filledAt: Duration?

  mutating func take(_ records: UInt64, now: Duration) -> Bool {
    let (seconds, parts) = (now - (filledAt ?? now)).components
    let span = Double(seconds) + Double(parts) / 1e18
    let more = min(span * Double(SyncLimits.filterVisitsPerSecond), Double(SyncLimits.filterVisits))
    left = min(left + Int(more), SyncLimits.filterVisits)
    filledAt = now
    guard left > 0 else { return false }
    // One large collection may take more than there is.
    left -= Int(min(records, UInt64(Int.max / 2)))
    return true
  }
}
