import CRDTCore
import DocStore
import Failpoints

/// How much a group is.
struct GroupExtent: Sendable {
  var documents: Int
  var byteCount: Int
}

/// The parts of one large group that the store has put aside, and how they become visible: all at once.
///
/// Only one part of it is in memory at a time, beside what the store keeps of a transaction.
struct StagedComponent {
  /// The high half of the names of all of them in the store.
  private static let mark: UInt64 = 0x636F_6D70_6F6E_656E
  /// Parts that a group may have.
  static let partLimit: UInt64 = 1 << 16
  /// Pieces of one part in the store, at most.
  private static let piecesPerPart: UInt32 = 1 << 10

  private let id: StagingID
  private let accepts: (String) -> Bool
  /// What of a part is to be merged.
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

  /// Forgets those that are not in use: what was left unfinished comes again as a whole.
  ///
  /// - Returns: Which ones.
  static func makeRoom(
    _ transaction: WriteTransaction, except used: (StagingID) -> Bool
  ) throws -> Set<StagingID> {
    let unused = try transaction.stagedIDs().filter { isOne($0) && !used($0) }
    for id in unused { try transaction.unstage(id) }
    return unused
  }

  /// Hands parts that are put aside to `body`, from a number on and until it returns `false`: their numbers, who sent
  /// them, and the bytes of the group.
  static func forEachPart(
    of id: StagingID, from first: UInt64 = 0, in transaction: borrowing ReadTransaction,
    _ body: (UInt64, SiteID, ArraySlice<UInt8>) throws -> Bool
  ) throws {
    var pieces = PartPieces()
    try transaction.forEachStaged(of: id, from: firstPiece(of: first)) { try pieces.take($0, $1, body) }
    try pieces.handOut(body)
  }

  /// Puts a part aside.
  ///
  /// - Returns: `false`, with nothing of it put aside, when there is no room.
  func put(
    _ group: IncomingGroup, as part: UInt64, from sender: SiteID, in transaction: WriteTransaction
  ) throws -> Bool {
    var head = ByteWriter(capacity: 16)
    head.write(sender)
    let bytes = head.bytes + group.block[group.range]
    let first = Self.firstPiece(of: part)
    // A peer puts aside no more than its part of what all may, beside others.
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

  /// Whether all parts before one are here.
  func isWhole(before part: UInt64, in transaction: WriteTransaction) throws -> Bool {
    let parts = Set(try transaction.stagedParts(of: id).map(Self.part))
    return UInt64(parts.count) == part && parts.allSatisfy { $0 < part }
  }

  /// What there is of the group, with a part that is not put aside.
  func extent(with part: IncomingGroup, in transaction: WriteTransaction) throws -> GroupExtent {
    var extent = GroupExtent(documents: part.documentCount, byteCount: part.byteCount)
    try forEachPart(in: transaction) { part in
      extent.documents += part.documentCount
      extent.byteCount += part.byteCount
      return true
    }
    return extent
  }

  /// Merges all parts, of which `last` was not put aside, or asks for all in another form where one does not fit.
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

  /// Whether none of the parts was damaged since they were put aside.
  func isIntact(in transaction: WriteTransaction) throws -> Bool {
    do {
      try transaction.forEachStaged(of: id) { _, _ in true }
      return true
    } catch let error as StoreError where error.code == .corrupt {
      return false
    }
  }

  /// Hands each part to `body` until that returns `false`; it cannot write.
  private func forEachPart(
    in transaction: WriteTransaction, _ body: (IncomingGroup) throws -> Bool
  ) throws {
    try forEachPart(in: transaction) { _, group in try body(group) }
  }

  /// The first part that is put aside, and its number.
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

/// Puts the pieces of parts together, and hands out each part when it is whole.
private struct PartPieces {
  private var part: UInt64 = 0
  private var bytes: [UInt8] = []
  private var goesOn = true

  /// Takes the next piece.
  ///
  /// - Returns: Whether `body` wants more parts.
  mutating func take(
    _ piece: UInt32, _ content: [UInt8], _ body: (UInt64, SiteID, ArraySlice<UInt8>) throws -> Bool
  ) throws -> Bool {
    let next = StagedComponent.part(of: piece)
    if next != part { try handOut(body) }
    part = next
    if goesOn { bytes += content }
    return goesOn
  }

  /// Hands out the last part.
  mutating func handOut(_ body: (UInt64, SiteID, ArraySlice<UInt8>) throws -> Bool) throws {
    guard goesOn, !bytes.isEmpty else { return }
    var reader = ByteReader(bytes.span.bytes)
    let site = try reader.readSite()
    goesOn = try body(part, site, bytes[reader.offset...])
    bytes = []
  }
}
