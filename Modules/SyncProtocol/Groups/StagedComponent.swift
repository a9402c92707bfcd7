import CRDTCore
import DocStore

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
  private let features: Features
  private let accepts: (String) -> Bool
  /// What of a part is to be merged.
  private let select: (IncomingGroup) throws -> IncomingGroup

  init(
    _ id: StagingID, features: Features, accepts: @escaping (String) -> Bool,
    select: @escaping (IncomingGroup) throws -> IncomingGroup
  ) {
    self.id = id
    self.features = features
    self.accepts = accepts
    self.select = select
  }

  static func name(_ low: UInt64) -> StagingID { StagingID(high: mark, low: low) }

  /// Forgets those of earlier sessions: of what was left unfinished all comes again.
  static func collect(_ transaction: WriteTransaction, except used: (StagingID) -> Bool) throws {
    for id in try transaction.stagedIDs() where id.high == mark && !used(id) { try transaction.unstage(id) }
  }

  /// Puts a part aside.
  ///
  /// - Returns: `false`, with nothing of it put aside, when there is no room.
  func put(_ group: IncomingGroup, as part: UInt64, in transaction: WriteTransaction) throws -> Bool {
    let bytes = group.block[group.range]
    let first = UInt32(part) * Self.piecesPerPart
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
    let parts = Set(try transaction.stagedParts(of: id).map { $0 / Self.piecesPerPart })
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
      Probe.reached(.groupLeftOut)
      var missing: [DocumentVersion] = []
      try forEachPart(in: transaction) { part in
        missing += try GroupMerge(part, in: transaction).versions(&outcome)
        return true
      }
      missing += try GroupMerge(last, in: transaction).versions(&outcome)
      outcome.missing.append(missing)
      return try transaction.unstage(id)
    }
    while let (part, end) = try firstPart(in: transaction) {
      try merge(part, in: transaction, &outcome)
      try transaction.unstage(id, parts: 0...end)
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
    var bytes: [UInt8] = []
    var current: UInt32 = 0
    var goesOn = true
    try transaction.forEachStaged(of: id) { piece, content in
      if piece / Self.piecesPerPart != current, !bytes.isEmpty {
        goesOn = try body(try group(of: bytes))
        bytes = []
      }
      current = piece / Self.piecesPerPart
      if goesOn { bytes += content }
      return goesOn
    }
    if goesOn, !bytes.isEmpty { _ = try body(try group(of: bytes)) }
  }

  /// The first part that is put aside, and the name of its last piece.
  private func firstPart(in transaction: WriteTransaction) throws -> (IncomingGroup, end: UInt32)? {
    var bytes: [UInt8] = []
    var last: UInt32?
    try transaction.forEachStaged(of: id) { piece, content in
      guard last.map({ $0 / Self.piecesPerPart == piece / Self.piecesPerPart }) ?? true else { return false }
      last = piece
      bytes += content
      return true
    }
    guard let last else { return nil }
    return (try group(of: bytes), last)
  }

  private func group(of bytes: [UInt8]) throws -> IncomingGroup {
    let group: IncomingGroup
    do throws(CodecError) {
      group = try IncomingGroup(bytes, 0..<bytes.count, features: features, accepts: accepts)
    } catch {
      throw SyncError(error, in: "a part of a group", base: 0)
    }
    return try select(group)
  }
}
