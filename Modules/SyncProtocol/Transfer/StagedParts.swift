import CRDTCore
import DocStore

/// Whole parts of a large group that a session has put aside and not come to the end of.
///
/// The store forgets them when nobody refers to them any more: no stage, and no session that told its peer of them.
final class StagedParts: Sendable {
  let id: StagingID
  /// The parts' numbers, and where they lie in all bytes together.
  private let places: [(part: UInt64, range: Range<Int>)]
  private let garbage: StagingGarbage

  private init(_ id: StagingID, _ places: [(part: UInt64, range: Range<Int>)], _ garbage: StagingGarbage) {
    self.id = id
    self.places = places
    self.garbage = garbage
  }

  deinit { garbage.add(id) }

  /// Looks at what a session has left.
  ///
  /// What would take more than half of the room is let go of, as all is stored anew while the group comes once more.
  /// - Returns: `nil`, and the store is to forget all, for nothing and for what is damaged.
  /// - Complexity: O(*n*) in the bytes.
  static func staged(
    _ id: StagingID, in transaction: borrowing ReadTransaction, roomBytes: Int, _ garbage: StagingGarbage,
    at now: Duration
  ) throws -> StagedTransfer? {
    var places: [(part: UInt64, range: Range<Int>)] = []
    var outline: StagedOutline?
    do {
      try StagedComponent.forEachPart(of: id, in: transaction) { part, site, group in
        var next = outline ?? StagedOutline(from: site, grain: StagedOutline.partsGrain)
        let start = next.byteCount
        guard next.site == site, next.append(group, isWhole: true), next.byteCount <= roomBytes / 2,
          next.names.count <= SyncLimits.stagedNames
        else {
          garbage.add(id, from: part)
          return false
        }
        places.append((part, start..<next.byteCount))
        outline = next
        return true
      }
    } catch let error where error is CodecError || (error as? StoreError)?.code == .corrupt {
      garbage.add(id)
      return nil
    }
    guard let outline else {
      garbage.add(id)
      return nil
    }
    return StagedTransfer(StagedParts(id, places, garbage), outline, at: now)
  }

  /// The bytes of a range; `nil` when some of them are not here any more, or damaged.
  func bytes(in range: Range<Int>, _ transaction: borrowing ReadTransaction) throws -> ArraySlice<UInt8>? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(range.count)
    for place in places where place.range.overlaps(range) {
      let wanted = place.range.clamped(to: range)
      var isFound = false
      do {
        try StagedComponent.forEachPart(of: id, from: place.part, in: transaction) { part, _, group in
          guard part == place.part, group.count == place.range.count else { return false }
          let start = group.startIndex + wanted.lowerBound - place.range.lowerBound
          bytes += group[start..<start + wanted.count]
          isFound = true
          return false
        }
      } catch let error where error is CodecError || (error as? StoreError)?.code == .corrupt {
        return nil
      }
      guard isFound else { return nil }
    }
    return bytes[...]
  }
}
