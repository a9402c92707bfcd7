import CRDTCore

/// The halves of one role in a session, one for each collection that the interest covers.
struct Tellings {
  /// Bytes of the filters of one role: half of what a session may hold.
  static let filterBytes = 4 << 20
  private let role: Telling.Role
  private let tuning: SyncTuning
  private var halves: [TextKey: Telling] = [:]
  /// The last number that any of them has used: a half that is made anew goes on from there.
  private var lastNumber: UInt64 = 0

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

  /// How many documents wait for answers.
  var waitingCount: Int { halves.values.reduce(0) { $0 + $1.waitingCount } }

  /// Bytes that one more filter may take.
  var room: Int { max(Self.filterBytes - filterBytes, 0) }

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
