import CRDTCore

/// How the staged bytes of a large transaction are cut, and where they come from, as described to a peer.
struct StagedOutline: Sendable {
  /// The grain for transactions that came in segments, whatever their size.
  static let segmentsGrain = ContentChunks.grains.upperBound

  /// The peer that sent them.
  let site: SiteID
  let grain: Int
  /// The collections of their documents.
  private(set) var collections: Set<TextKey> = []
  private(set) var byteCount = 0
  /// The ends of the chunks, and their names; the bytes after the last end are the tail.
  private(set) var ends: [Int] = []
  private(set) var names: [UInt64] = []
  private(set) var tailName: UInt64

  /// Creates an outline of no bytes.
  init(from site: SiteID, grain: Int) {
    self.site = site
    self.grain = grain
    tailName = ContentChunks.name(of: [])
  }

  var tailBytes: Int { byteCount - (ends.last ?? 0) }

  /// Adds the beginning of a transaction, or all of one that is `whole` and ends a chunk.
  ///
  /// - Returns: `false`, with nothing added, if it is no beginning of a transaction.
  mutating func append(_ transaction: ArraySlice<UInt8>, isWhole: Bool) -> Bool {
    guard let named = ColumnarTransaction.collections(transaction) else { return false }
    collections.formUnion(named)
    var start = transaction.startIndex
    for end in ContentChunks.ends(of: transaction, grain: grain, isWhole: isWhole) {
      ends.append(byteCount + end - transaction.startIndex)
      names.append(ContentChunks.name(of: transaction[start..<end]))
      start = end
    }
    byteCount += transaction.count
    tailName = ContentChunks.name(of: transaction[start...])
    return true
  }

  /// Returns the range of consecutive chunks, with the tail if asked for; `nil` if there are no such chunks.
  func range(first: Int, count: Int, includesTail: Bool) -> Range<Int>? {
    guard 0...ends.count ~= first, 0...ends.count - first ~= count,
      !includesTail || first + count == ends.count
    else { return nil }
    let start = first == 0 ? 0 : ends[first - 1]
    if includesTail { return start..<byteCount }
    return start..<(count == 0 ? start : ends[first + count - 1])
  }
}
