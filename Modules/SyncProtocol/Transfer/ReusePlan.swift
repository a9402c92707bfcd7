import CRDTCore

/// What a receiver has staged, as its sender knows it.
struct PeerStages {
  private struct Stage {
    let notice: StagedNotice
    let places: [UInt64: Int]
  }

  private var stages: [Stage] = []

  var isEmpty: Bool { stages.isEmpty }

  /// Records the receiver's notices, which come once, at the beginning.
  mutating func receive(_ notices: [StagedNotice]) throws(SyncError) {
    guard stages.isEmpty else { throw SyncError(.outOfOrder, "Staged transfers were told before") }
    guard notices.count <= SyncLimits.stagedTransfers else {
      throw SyncError(.limit, "Too many staged transfers")
    }
    stages = notices.map { notice in
      Stage(
        notice: notice,
        places: Dictionary(
          notice.names.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first }))
    }
  }

  /// A range of a transaction that the receiver has staged.
  struct ReusableRange {
    let stage: Int
    var range: Range<Int>
    let first: Int
    var count: Int
    var includesTail = false
  }

  /// Returns the ranges of a transaction that need not be sent, in order, all from the stage that has most of
  /// it.
  ///
  /// - Complexity: O(*n*) in the transaction's bytes, for each stage.
  func plan(_ transaction: [UInt8]) -> [ReusableRange] {
    var best: [ReusableRange] = []
    var most = 0
    for index in stages.indices {
      let reusableRanges = reusableRanges(of: transaction, in: index)
      let bytes = reusableRanges.reduce(0) { $0 + $1.range.count }
      if bytes > most { (best, most) = (reusableRanges, bytes) }
    }
    return best
  }

  private func reusableRanges(of transaction: [UInt8], in index: Int) -> [ReusableRange] {
    let stage = stages[index]
    var reusableRanges: [ReusableRange] = []
    var start = 0
    if stage.notice.names.isEmpty, hasTail(stage, transaction, at: 0) {
      return [
        ReusableRange(stage: index, range: 0..<stage.notice.tailBytes, first: 0, count: 0, includesTail: true)
      ]
    }
    for end in ContentChunks.ends(of: transaction[...], grain: stage.notice.grain, isWhole: true) {
      defer { start = end }
      guard let place = stage.places[ContentChunks.name(of: transaction[start..<end])] else { continue }
      if let last = reusableRanges.last, last.range.upperBound == start, last.first + last.count == place {
        reusableRanges[reusableRanges.count - 1].range = last.range.lowerBound..<end
        reusableRanges[reusableRanges.count - 1].count += 1
      } else {
        reusableRanges.append(ReusableRange(stage: index, range: start..<end, first: place, count: 1))
      }
      if place == stage.notice.names.count - 1, hasTail(stage, transaction, at: end) {
        let last = reusableRanges.count - 1
        reusableRanges[last].range = reusableRanges[last].range.lowerBound..<end + stage.notice.tailBytes
        reusableRanges[last].includesTail = true
        // The next chunk of this transaction begins inside the tail.
        return reusableRanges
      }
    }
    return reusableRanges
  }

  private func hasTail(_ stage: Stage, _ transaction: [UInt8], at start: Int) -> Bool {
    let end = start + stage.notice.tailBytes
    return stage.notice.tailBytes > 0 && end <= transaction.count
      && ContentChunks.name(of: transaction[start..<end]) == stage.notice.tailName
  }
}
