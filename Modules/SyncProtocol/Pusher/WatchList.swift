import DocStore

/// Which documents the peer may hold under its interest although they do not match here: those that it told of, and those
/// that matched.
struct WatchList {
  private let tuning: SyncTuning
  private var hashes: Set<UInt64> = []
  /// Whether nobody knows any more which documents the peer may hold: each change may concern it.
  private(set) var isBlind = false

  init(_ tuning: SyncTuning) { self.tuning = tuning }

  mutating func insert(_ key: DocumentKey) {
    guard !isBlind else { return }
    hashes.insert(key.hash64)
    if hashes.count > tuning.watchedDocuments { loseTrack() }
  }

  func contains(_ key: DocumentKey) -> Bool { hashes.contains(key.hash64) }

  /// Takes note that documents ceased to match of which nobody knows the names.
  mutating func loseTrack() {
    isBlind = true
    hashes = []
  }
}
