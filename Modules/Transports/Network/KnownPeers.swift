import CRDTCore

/// The sites of peers with which documents were moved, the latest so many.
struct KnownPeers {
  private let limit: Int
  private var numbers: [SiteID: UInt64] = [:]
  private var last: UInt64 = 0

  init(limit: Int) { self.limit = limit }

  func contains(_ site: SiteID) -> Bool { numbers[site] != nil }

  /// Takes note of a peer; the one that was noted longest ago makes room.
  ///
  /// - Complexity: O(*n*) in the peers that are remembered.
  mutating func insert(_ site: SiteID) {
    last += 1
    numbers[site] = last
    guard numbers.count > limit, let oldest = numbers.min(by: { $0.value < $1.value }) else { return }
    numbers[oldest.key] = nil
  }
}
