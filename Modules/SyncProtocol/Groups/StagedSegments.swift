import CRDTCore
import DocStore
import Failpoints

/// The size of a transaction.
struct GroupExtent: Sendable {
  var documents: Int
  var byteCount: Int
}

/// The staged segments of one large transaction, which become visible together.
///
/// Only one segment is in memory at a time, besides what the store keeps of a transaction.
struct StagedSegments {
  /// The high half of the staging ids of all segmented transactions.
  private static let mark: UInt64 = 0x636F_6D70_6F6E_656E
  /// The maximum number of segments of a transaction.
  static let partLimit: UInt64 = 1 << 16
  /// The maximum number of chunks per segment in the store.
  private static let piecesPerPart: UInt32 = 1 << 10

  private let id: StagingID
  private let accepts: (String) -> Bool
  /// Returns the part of a segment that is to be merged.
  private let select: (IncomingGroup) throws -> IncomingGroup

  init(
    _ id: StagingID, accepts: @escaping (String) -> Bool,
    select: @escaping (IncomingGroup) throws -> IncomingGroup
  ) {
    self.id = id
    self.accepts = accepts
    self.select = select
  }

  static func name(_ low: UInt64) -> StagingID { StagingID(high: mark, low: low) }
  static func isOne(_ id: StagingID) -> Bool { id.high == mark }
  static func firstPiece(of part: UInt64) -> UInt32 { UInt32(part) * piecesPerPart }
  static func part(of piece: UInt32) -> UInt64 { UInt64(piece / piecesPerPart) }

  /// Drops the segments of transactions that are not in use.
  ///
  /// Unfinished transactions are sent again as a whole.
  ///
  /// - Returns: The dropped transactions.
  static func makeRoom(
    _ transaction: WriteTransaction, except used: (StagingID) -> Bool
  ) throws -> Set<StagingID> {
    let unused = try transaction.stagedIDs().filter { isOne($0) && !used($0) }
    for id in unused { try transaction.unstage(id) }
    return unused
  }

  /// Calls `body` with staged segments in order, from `first` on, until it returns `false`.
  ///
  /// `body` receives the number of the segment, the site that sent it, and its bytes.
  static func forEachPart(
    of id: StagingID, from first: UInt64 = 0, in transaction: borrowing ReadTransaction,
    _ body: (UInt64, SiteID, ArraySlice<UInt8>) throws -> Bool
  ) throws {
    var pieces = PartPieces()
    try transaction.forEachStaged(of: id, from: firstPiece(of: first)) { try pieces.take($0, $1, body) }
    try pieces.handOut(body)
  }

  /// Stages a segment.
  ///
  /// - Returns: `false`, with nothing staged, when there is no room.
  func put(
    _ group: IncomingGroup, as part: UInt64, from sender: SiteID, in transaction: WriteTransaction
  ) throws -> Bool {
    var head = ByteWriter(capacity: 16)
    head.write(sender)
    let bytes = head.bytes + group.block[group.range]
    let first = Self.firstPiece(of: part)
    // A transaction may stage no more than a quarter of the working limit while others are staged.
    let pieces =
      try transaction.stagedParts(of: id).count + bytes.count / WriteTransaction.stagedPartBytes + 1
    if pieces * WriteTransaction.stagedPartBytes > transaction.workingLimit / 4,
      try !transaction.stagedIDs().subtracting([id]).isEmpty
    {
      return false
    }
    var piece = first
    for start in stride(from: bytes.startIndex, to: bytes.endIndex, by: WriteTransaction.stagedPartBytes) {
      let end = min(start + WriteTransaction.stagedPartBytes, bytes.endIndex)
      guard try transaction.stage(Array(bytes[start..<end]), as: piece, of: id) else {
        try transaction.unstage(id, parts: first...piece)
        return false
      }
      piece += 1
    }
    return true
  }

  /// Returns whether all segments before `part` are staged.
  func isWhole(before part: UInt64, in transaction: WriteTransaction) throws -> Bool {
    let parts = Set(try transaction.stagedParts(of: id).map(Self.part))
    return UInt64(parts.count) == part && parts.allSatisfy { $0 < part }
  }

  /// Returns the size of the staged segments and of one that is not staged.
  func extent(with part: IncomingGroup, in transaction: WriteTransaction) throws -> GroupExtent {
    var extent = GroupExtent(documents: part.documentCount, byteCount: part.byteCount)
    try forEachPart(in: transaction) { part in
      extent.documents += part.documentCount
      extent.byteCount += part.byteCount
      return true
    }
    return extent
  }

  /// Merges all segments, of which `last` is not staged; if one does not fit, requests all in another form.
  func publish(
    with last: IncomingGroup, in transaction: WriteTransaction, _ outcome: inout ApplyOutcome
  ) throws {
    var fits = true
    try forEachPart(in: transaction) { part in
      fits = try GroupMerge(part, in: transaction).hasBases(&outcome)
      return fits
    }
    if fits { fits = try GroupMerge(last, in: transaction).hasBases(&outcome) }
    guard fits else {
      SyncPoint.groupLeftOut.reached()
      var missing: [DocumentVersion] = []
      try forEachPart(in: transaction) { part in
        missing += try GroupMerge(part, in: transaction).versions(&outcome)
        return true
      }
      missing += try GroupMerge(last, in: transaction).versions(&outcome)
      outcome.missing.append(missing)
      return try transaction.unstage(id)
    }
    while let (group, part) = try firstPart(in: transaction) {
      try merge(group, in: transaction, &outcome)
      try transaction.unstage(id, parts: 0...Self.firstPiece(of: part + 1) - 1)
    }
    try merge(last, in: transaction, &outcome)
  }

  private func merge(
    _ part: IncomingGroup, in transaction: WriteTransaction, _ outcome: inout ApplyOutcome
  ) throws {
    guard part.documentCount > 0 else { return }
    let missing = outcome.missing.count
    try GroupMerge(part, in: transaction).run(&outcome)
    guard outcome.missing.count == missing else {
      throw SyncError(.malformed, "A part of a group names a document that another one names")
    }
  }

  /// Returns whether none of the staged segments is damaged.
  func isIntact(in transaction: WriteTransaction) throws -> Bool {
    do {
      try transaction.forEachStaged(of: id) { _, _ in true }
      return true
    } catch let error as StoreError where error.code == .corrupt {
      return false
    }
  }

  /// Calls `body`, which must not write, with each segment until it returns `false`.
  private func forEachPart(
    in transaction: WriteTransaction, _ body: (IncomingGroup) throws -> Bool
  ) throws {
    try forEachPart(in: transaction) { _, group in try body(group) }
  }

  /// Returns the first staged segment and its number.
  private func firstPart(in transaction: WriteTransaction) throws -> (IncomingGroup, part: UInt64)? {
    var first: (IncomingGroup, part: UInt64)?
    try forEachPart(in: transaction) { part, group in
      first = (group, part)
      return false
    }
    return first
  }

  private func forEachPart(
    in transaction: WriteTransaction, _ body: (UInt64, IncomingGroup) throws -> Bool
  ) throws {
    func take(_ part: UInt64, _: SiteID, _ group: ArraySlice<UInt8>) throws -> Bool {
      try body(part, try self.group(of: group))
    }
    var pieces = PartPieces()
    try transaction.forEachStaged(of: id) { try pieces.take($0, $1, take) }
    try pieces.handOut(take)
  }

  private func group(of slice: ArraySlice<UInt8>) throws -> IncomingGroup {
    let group: IncomingGroup
    let bytes = Array(slice)
    do throws(CodecError) {
      group = try IncomingGroup(bytes, 0..<bytes.count, accepts: accepts)
    } catch {
      throw SyncError(error, in: "a part of a group", base: 0)
    }
    return try select(group)
  }
}

/// Assembles segments from their chunks, and passes on each complete segment.
private struct PartPieces {
  private var part: UInt64 = 0
  private var bytes: [UInt8] = []
  private var goesOn = true

  /// Adds the next chunk.
  ///
  /// - Returns: Whether `body` wants more segments.
  mutating func take(
    _ piece: UInt32, _ content: [UInt8], _ body: (UInt64, SiteID, ArraySlice<UInt8>) throws -> Bool
  ) throws -> Bool {
    let next = StagedSegments.part(of: piece)
    if next != part { try handOut(body) }
    part = next
    if goesOn { bytes += content }
    return goesOn
  }

  /// Passes on the last segment.
  mutating func handOut(_ body: (UInt64, SiteID, ArraySlice<UInt8>) throws -> Bool) throws {
    guard goesOn, !bytes.isEmpty else { return }
    var reader = ByteReader(bytes.span.bytes)
    let site = try reader.readSite()
    goesOn = try body(part, site, bytes[reader.offset...])
    bytes = []
  }
}
