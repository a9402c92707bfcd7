import CRDTCore
import DocStore

/// Identifies a segment of a large transaction, which becomes visible as a whole with the last segment.
struct Segment: Hashable, Sendable {
  /// The number of the segmented transaction in the session, from 1.
  let transaction: UInt64
  /// The number of the segment in its transaction, from 0.
  let part: UInt64
  let isLast: Bool

  init(transaction: UInt64, part: UInt64, isLast: Bool) {
    self.transaction = transaction
    self.part = part
    self.isLast = isLast
  }

  func encode(to out: inout ByteWriter) {
    out.writeVarint(transaction)
    out.writeVarint(part)
    out.write(isLast ? 1 as UInt8 : 0)
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    transaction = try reader.readVarint()
    part = try reader.readVarint()
    guard part < StagedSegments.partLimit else { throw reader.failure(.limit, "a group has too many parts") }
    isLast = try reader.readFlag()
  }
}

/// Where to stage a received segment.
struct SegmentStep: Sendable {
  let name: SegmentedName
  let part: Segment

  var id: StagingID { name.id }
}

/// Tracks the segments of one large transaction, which must arrive in order.
struct IncomingSegments {
  private var open: (transaction: UInt64, next: UInt64, name: SegmentedName)?

  /// Returns where to stage a segment; `nil` when an earlier segment is missing, which makes it useless.
  mutating func step(for part: Segment, makeName: () -> SegmentedName) -> SegmentStep? {
    if part.part == 0 {
      open = (part.transaction, 0, makeName())
    } else if open.map({ $0.transaction != part.transaction || $0.next != part.part }) ?? true {
      open = nil
    }
    guard let (transaction, next, name) = open else { return nil }
    open = part.isLast ? nil : (transaction, next + 1, name)
    return SegmentStep(name: name, part: part)
  }
}
