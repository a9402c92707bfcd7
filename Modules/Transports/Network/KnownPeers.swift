import CRDTCore

/// The sites of the latest peers with which documents were moved.
struct KnownPeers {
  private let limit: Int
  private var numbers: [SiteID: UInt64] = [:]
  private var last: UInt64 = 0

  init(limit: Int) { self.limit = limit }

  func contains(_ site: SiteID) -> Bool { numbers[site] != nil }

  /// Records a peer; removes the least recently recorded one if there is no room.
  ///
  /// - Complexity: O(*n*) in the peers that are remembered.
  mutating func insert(_ site: SiteID) {
    last += 1
    numbers[site] = last
    guard numbers.count > limit, let oldest = numbers.min(by: { $0.value < $1.value }) else { return }
    numbers[oldest.key] = nil
  }
}
