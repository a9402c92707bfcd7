import CRDTCore
import DocStore
import Synchronization

/// Complete segments of a large transaction that a session has staged without receiving the rest.
///
/// The store forgets them when nothing refers to them: neither a stage nor a session that has described them
/// to its peer.
final class ReusableSegments: Sendable {
  let id: StagingID
  /// The numbers of the segments, and their ranges in all bytes together.
  private let places: [(segment: UInt64, range: Range<Int>)]
  private let garbage: StagingGarbage
  /// Whether another object has the segments now, and the store is not to forget them with this one.
  private let isPassedOn = Mutex(false)

  private init(_ id: StagingID, _ places: [(segment: UInt64, range: Range<Int>)], _ garbage: StagingGarbage) {
    self.id = id
    self.places = places
    self.garbage = garbage
  }

  deinit { if !isPassedOn.withLock({ $0 }) { garbage.add(id) } }

  /// Leaves the segments to another object.
  func passOn() { isPassedOn.withLock { $0 = true } }

  /// Reads the segments that a session has left.
  ///
  /// Segments beyond half of the room are dropped: while the transaction arrives again, all of it is stored a
  /// second time.
  ///
  /// - Returns: `nil` for nothing, for damaged segments, and for those of a document that was erased while
  ///   they arrived. The store is to forget these.
  /// - Complexity: O(*n*) in the bytes.
  static func staged(
    _ left: LeftSegments, in snapshot: borrowing ReadTransaction, roomBytes: Int, _ garbage: StagingGarbage,
    _ erased: ErasedDocuments, at now: Duration
  ) throws -> StagedTransfer? {
    let id = left.id
    var places: [(segment: UInt64, range: Range<Int>)] = []
    var outline: StagedOutline?
    do {
      try StagedSegments.forEachSegment(of: id, in: snapshot) { segment, site, transaction in
        if erased.areNamed(in: transaction, since: left.erasedCount) {
          outline = nil
          return false
        }
        var next = outline ?? StagedOutline(from: site, grain: StagedOutline.segmentsGrain)
        let start = next.byteCount
        guard next.site == site, next.append(transaction, isWhole: true), next.byteCount <= roomBytes / 2,
          next.names.count <= SyncLimits.stagedNames
        else {
          garbage.add(id, from: segment)
          return false
        }
        places.append((segment, start..<next.byteCount))
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
    return StagedTransfer(ReusableSegments(id, places, garbage), outline, at: now)
  }

  /// Returns the bytes of a range; `nil` when some of them are gone or damaged.
  func bytes(in range: Range<Int>, _ snapshot: borrowing ReadTransaction) throws -> ArraySlice<UInt8>? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(range.count)
    for place in places where place.range.overlaps(range) {
      let wanted = place.range.clamped(to: range)
      var isFound = false
      do {
        try StagedSegments.forEachSegment(of: id, from: place.segment, in: snapshot) {
          segment, _, transaction in
          guard segment == place.segment, transaction.count == place.range.count else { return false }
          let start = transaction.startIndex + wanted.lowerBound - place.range.lowerBound
          bytes += transaction[start..<start + wanted.count]
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
