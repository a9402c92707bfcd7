import CRDTCore

/// How bytes that are kept of a large group are cut, and where they are from: what a peer is told of them.
struct StagedOutline: Sendable {
  /// The grain at which the parts of a group that came in parts are cut, whatever there is of them.
  static let partsGrain = ContentParts.grains.upperBound

  /// The peer that they came from.
  let site: SiteID
  let grain: Int
  /// Whose documents they are of.
  private(set) var collections: Set<TextKey> = []
  private(set) var byteCount = 0
  /// Where the pieces end, and their names; what is behind the last one is the tail.
  private(set) var ends: [Int] = []
  private(set) var names: [UInt64] = []
  private(set) var tailName: UInt64

  /// Describes what is yet to be added.
  init(from site: SiteID, grain: Int) {
    self.site = site
    self.grain = grain
    tailName = ContentParts.name(of: [])
  }

  var tailBytes: Int { byteCount - (ends.last ?? 0) }

  /// Adds the beginning of a group, or all of one that is `whole` and ends a piece.
  ///
  /// - Returns: `false`, with nothing added, for what is no beginning of a group.
  mutating func append(_ group: ArraySlice<UInt8>, isWhole: Bool) -> Bool {
    guard let named = ColumnGroup.collections(group) else { return false }
    collections.formUnion(named)
    var start = group.startIndex
    for end in ContentParts.ends(of: group, grain: grain, isWhole: isWhole) {
      ends.append(byteCount + end - group.startIndex)
      names.append(ContentParts.name(of: group[start..<end]))
      start = end
    }
    byteCount += group.count
    tailName = ContentParts.name(of: group[start...])
    return true
  }

  /// Where consecutive pieces lie, with what is behind the last one if asked for.
  func range(first: Int, count: Int, includesTail: Bool) -> Range<Int>? {
    guard first >= 0, count >= 0, first <= ends.count, count <= ends.count - first,
      !includesTail || first + count == ends.count
    else { return nil }
    let start = first == 0 ? 0 : ends[first - 1]
    if includesTail { return start..<byteCount }
    return start..<(count == 0 ? start : ends[first + count - 1])
  }
}
