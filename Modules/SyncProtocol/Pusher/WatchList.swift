import DocStore
import Failpoints

/// Possible holders: documents that the peer may hold under its interest although they do not match here.
///
/// They are the documents that the peer has reported, and those that matched before.
struct WatchList {
  private let tuning: SyncTuning
  private var hashes: Set<UInt64> = []
  /// Whether the possible holders are unknown: any change may concern the peer.
  private(set) var isBlind = false

  init(_ tuning: SyncTuning) { self.tuning = tuning }

  mutating func insert(_ key: DocumentKey) {
    guard !isBlind else { return }
    hashes.insert(key.hash64)
    if hashes.count > tuning.possibleHolders { loseTrack() }
    let count = hashes.count
    check(
      .sync(9), count <= tuning.possibleHolders, phase: "sending", "\(count) possible holders are remembered"
    )
  }

  func contains(_ key: DocumentKey) -> Bool { hashes.contains(key.hash64) }

  /// Records that unknown documents ceased to match.
  mutating func loseTrack() {
    isBlind = true
    hashes = []
  }
}
