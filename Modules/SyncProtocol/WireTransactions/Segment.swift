import CRDTCore
import DocStore

/// Identifies a segment of a large transaction, which becomes visible as a whole with the last segment.
struct Segment: Hashable, Sendable {
  /// The number of the segmented transaction in the session, from 1.
  let transaction: UInt64
  /// The number of the segment in its transaction, from 0.
  let index: UInt64
  let isLast: Bool

  init(transaction: UInt64, index: UInt64, isLast: Bool) {
    self.transaction = transaction
    self.index = index
    self.isLast = isLast
  }

  func encode(to out: inout ByteWriter) {
    out.writeVarint(transaction)
    out.writeVarint(index)
    out.write(isLast ? 1 as UInt8 : 0)
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    transaction = try reader.readVarint()
    index = try reader.readVarint()
    guard index < StagedSegments.mostSegments else {
      throw reader.failure(.limit, "a group has too many parts")
    }
    isLast = try reader.readFlag()
  }
}

/// Where to stage a received segment.
struct SegmentStep: Sendable {
  let name: SegmentedName
  let segment: Segment

  var id: StagingID { name.id }
}

/// Tracks the segments of one large transaction, which must arrive in order.
struct IncomingSegments {
  private var open: (transaction: UInt64, next: UInt64, name: SegmentedName)?

  /// Returns where to stage a segment; `nil` when an earlier segment is missing, which makes it useless.
  mutating func step(for segment: Segment, makeName: () -> SegmentedName) -> SegmentStep? {
    if segment.index == 0 {
      open = (segment.transaction, 0, makeName())
    } else if open.map({ $0.transaction != segment.transaction || $0.next != segment.index }) ?? true {
      open = nil
    }
    guard let (transaction, next, name) = open else { return nil }
    open = segment.isLast ? nil : (transaction, next + 1, name)
    return SegmentStep(name: name, segment: segment)
  }
}
