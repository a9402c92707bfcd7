import CRDTCore
import DocStore
import Failpoints

/// The size of a transaction.
struct TransactionExtent: Sendable {
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
  static let mostSegments: UInt64 = 1 << 16
  /// The maximum number of chunks per segment in the store.
  private static let chunksPerSegment: UInt32 = 1 << 10

  private let id: StagingID
  private let accepts: (String) -> Bool
  /// Returns the part of a segment that is to be merged.
  private let select: (IncomingTransaction) throws -> IncomingTransaction

  init(
    _ id: StagingID, accepts: @escaping (String) -> Bool,
    select: @escaping (IncomingTransaction) throws -> IncomingTransaction
  ) {
    self.id = id
    self.accepts = accepts
    self.select = select
  }

  static func name(_ low: UInt64) -> StagingID { StagingID(high: mark, low: low) }
  static func isOne(_ id: StagingID) -> Bool { id.high == mark }
  static func firstChunk(of segment: UInt64) -> UInt32 { UInt32(segment) * chunksPerSegment }
  static func segment(of chunk: UInt32) -> UInt64 { UInt64(chunk / chunksPerSegment) }
  static func chunks(of segment: UInt64) -> ClosedRange<UInt32> {
    firstChunk(of: segment)...firstChunk(of: segment) + (chunksPerSegment - 1)
  }

  /// Drops the segments of transactions that are not in use.
  ///
  /// Unfinished transactions are sent again as a whole.
  ///
  /// - Returns: The dropped transactions.
  static func makeRoom(
    _ write: WriteTransaction, except used: (StagingID) -> Bool
  ) throws -> Set<StagingID> {
    let unused = try write.stagedIDs().filter { isOne($0) && !used($0) }
    for id in unused { try write.unstage(id) }
    return unused
  }

  /// Calls `body` with staged segments in order, from `first` on, until it returns `false`.
  ///
  /// `body` receives the number of the segment, the site that sent it, and its bytes.
  static func forEachSegment(
    of id: StagingID, from first: UInt64 = 0, in snapshot: borrowing some SideReading & ~Copyable,
    _ body: (UInt64, SiteID, ArraySlice<UInt8>) throws -> Bool
  ) throws {
    var chunks = SegmentChunks()
    try snapshot.forEachStaged(of: id, from: firstChunk(of: first)) { try chunks.append($0, $1, body) }
    try chunks.handOut(body)
  }

  /// Stages a segment.
  ///
  /// - Returns: `false`, with nothing staged, when there is no room.
  func put(
    _ transaction: IncomingTransaction, as segment: UInt64, from sender: SiteID, in write: WriteTransaction
  ) throws -> Bool {
    var head = ByteWriter(capacity: 16)
    head.write(sender)
    let bytes = head.bytes + transaction.block[transaction.range]
    let first = Self.firstChunk(of: segment)
    // A transaction may stage no more than a quarter of the working limit while others are staged.
    let chunks =
      try write.stagedChunks(of: id).count + bytes.count / WriteTransaction.stagedChunkBytes + 1
    if chunks * WriteTransaction.stagedChunkBytes > write.workingLimit / 4,
      try !write.stagedIDs().subtracting([id]).isEmpty
    {
      return false
    }
    var chunk = first
    for start in stride(from: bytes.startIndex, to: bytes.endIndex, by: WriteTransaction.stagedChunkBytes) {
      let end = min(start + WriteTransaction.stagedChunkBytes, bytes.endIndex)
      guard try write.stage(Array(bytes[start..<end]), as: chunk, of: id) else {
        try write.unstage(id, chunks: first...chunk)
        return false
      }
      chunk += 1
    }
    return true
  }

  /// Returns whether all segments before `segment` are staged.
  func isWhole(before segment: UInt64, in write: WriteTransaction) throws -> Bool {
    let chunks = Set(try write.stagedChunks(of: id).map(Self.segment))
    return UInt64(chunks.count) == segment && chunks.allSatisfy { $0 < segment }
  }

  /// Returns the size of the staged segments and of one that is not staged.
  func extent(with segment: IncomingTransaction, in write: WriteTransaction) throws -> TransactionExtent {
    var extent = TransactionExtent(documents: segment.documentCount, byteCount: segment.byteCount)
    try forEachSegment(in: write) { segment in
      extent.documents += segment.documentCount
      extent.byteCount += segment.byteCount
      return true
    }
    return extent
  }

  /// Merges all segments, of which `last` is not staged; if one does not fit, requests all in another form.
  func publish(
    with last: IncomingTransaction, in write: WriteTransaction, _ outcome: inout ApplyOutcome
  ) throws {
    var fits = true
    try forEachSegment(in: write) { segment in
      fits = try TransactionMerge(segment, in: write).hasBases(&outcome)
      return fits
    }
    if fits { fits = try TransactionMerge(last, in: write).hasBases(&outcome) }
    guard fits else {
      SyncPoint.groupLeftOut.reached()
      var missing: [DocumentVersion] = []
      try forEachSegment(in: write) { segment in
        missing += try TransactionMerge(segment, in: write).versions(&outcome)
        return true
      }
      missing += try TransactionMerge(last, in: write).versions(&outcome)
      outcome.missing.append(missing)
      return try write.unstage(id)
    }
    while let (transaction, segment) = try firstSegment(in: write) {
      try merge(transaction, in: write, &outcome)
      try write.unstage(id, chunks: 0...Self.firstChunk(of: segment + 1) - 1)
    }
    try merge(last, in: write, &outcome)
  }

  private func merge(
    _ segment: IncomingTransaction, in write: WriteTransaction, _ outcome: inout ApplyOutcome
  ) throws {
    guard segment.documentCount > 0 else { return }
    let missing = outcome.missing.count
    try TransactionMerge(segment, in: write).run(&outcome)
    guard outcome.missing.count == missing else {
      throw SyncError(.malformed, "A part of a group names a document that another one names")
    }
  }

  /// Returns whether none of the staged segments is damaged.
  func isIntact(in write: WriteTransaction) throws -> Bool {
    do {
      try write.forEachStaged(of: id) { _, _ in true }
      return true
    } catch let error as StoreError where error.code == .corrupt {
      return false
    }
  }

  /// Calls `body`, which must not write, with each segment until it returns `false`.
  private func forEachSegment(
    in write: WriteTransaction, _ body: (IncomingTransaction) throws -> Bool
  ) throws {
    try forEachSegment(in: write) { _, transaction in try body(transaction) }
  }

  /// Returns the first staged segment and its number.
  private func firstSegment(in write: WriteTransaction) throws -> (IncomingTransaction, segment: UInt64)? {
    var first: (IncomingTransaction, segment: UInt64)?
    try forEachSegment(in: write) { segment, transaction in
      first = (transaction, segment)
      return false
    }
    return first
  }

  private func forEachSegment(
    in write: WriteTransaction, _ body: (UInt64, IncomingTransaction) throws -> Bool
  ) throws {
    func visit(_ segment: UInt64, _: SiteID, _ transaction: ArraySlice<UInt8>) throws -> Bool {
      try body(segment, try self.transaction(of: transaction))
    }
    var chunks = SegmentChunks()
    try write.forEachStaged(of: id) { try chunks.append($0, $1, visit) }
    try chunks.handOut(visit)
  }

  private func transaction(of staged: ArraySlice<UInt8>) throws -> IncomingTransaction {
    let transaction: IncomingTransaction
    let bytes = Array(staged)
    do throws(CodecError) {
      transaction = try IncomingTransaction(bytes, 0..<bytes.count, accepts: accepts)
    } catch {
      throw SyncError(error, in: "a part of a group", base: 0)
    }
    return try select(transaction)
  }
}

/// Assembles segments from their chunks, and passes on each complete segment.
private struct SegmentChunks {
  private var segment: UInt64 = 0
  private var bytes: [UInt8] = []
  private var goesOn = true

  /// Adds the next chunk.
  ///
  /// - Returns: Whether `body` wants more segments.
  mutating func append(
    _ chunk: UInt32, _ content: [UInt8], _ body: (UInt64, SiteID, ArraySlice<UInt8>) throws -> Bool
  ) throws -> Bool {
    let next = StagedSegments.segment(of: chunk)
    if next != segment { try handOut(body) }
    segment = next
    if goesOn { bytes += content }
    return goesOn
  }

  /// Passes on the last segment.
  mutating func handOut(_ body: (UInt64, SiteID, ArraySlice<UInt8>) throws -> Bool) throws {
    guard goesOn, !bytes.isEmpty else { return }
    var reader = ByteReader(bytes.span.bytes)
    let site = try reader.readSite()
    goesOn = try body(segment, site, bytes[reader.offset...])
    bytes = []
  }
}
