import CRDTCore

/// A run: similar changes from the peer, each one write on top of a local state.
struct IncomingRun: Sendable {
  let collection: String
  /// Whether the run belongs to a commit sent by eager push, and whether the sender forwarded it.
  let isLive: Bool
  let isForwarded: Bool
  let head: RunHead
  let check: RunCheck
  /// The ids in ascending order of their bytes.
  let ids: [DocumentID]
  /// The entries of all operation deltas in one buffer, and the end of each.
  private let entries: [UInt8]
  private let ends: [Int]

  /// Decodes a run including its values; `limit` is the maximum number of documents.
  ///
  /// - Throws: A `CodecError` for anything that no sender writes.
  init(from reader: inout ByteReader, after previous: inout String?, limit: Int) throws(CodecError) {
    collection = try reader.readCollection(after: &previous)
    let flags = try reader.readByte()
    guard flags & ~TransactionEncoder.runFlags == 0 else {
      throw reader.failure(.malformed, "a run has unknown flags")
    }
    isLive = flags & TransactionEncoder.liveFlag != 0
    isForwarded = flags & TransactionEncoder.forwardedFlag != 0
    head = try RunHead(from: &reader)
    check = try RunCheck(from: &reader)
    let count = try reader.readCount(minimumBytes: 3)
    guard count > 0, count <= limit else { throw reader.failure(.limit, "a run of \(count) documents") }
    ids = try Self.readIDs(count, &reader)
    var columns: [Range<Int>] = []
    for _ in 0..<head.valueCount {
      let bytes = try reader.readCount()
      columns.append(reader.offset..<reader.offset + bytes)
      _ = try reader.readBytes(bytes)
    }
    var entries = ByteWriter(capacity: columns.reduce(count * 16) { $0 + $1.count })
    var ends: [Int] = []
    ends.reserveCapacity(count)
    for _ in 0..<count {
      try head.appendEntries(reader.bytes, columns: &columns, to: &entries)
      guard entries.count <= SyncLimits.transactionBytes else {
        throw reader.failure(.limit, "a run unfolds to more than a group may have")
      }
      ends.append(entries.count)
    }
    guard columns.allSatisfy(\.isEmpty) else {
      throw reader.failure(.malformed, "a run has values left over")
    }
    self.entries = entries.bytes
    self.ends = ends
  }

  private static func readIDs(
    _ count: Int, _ reader: inout ByteReader
  ) throws(CodecError) -> [DocumentID] {
    var ids: [DocumentID] = []
    ids.reserveCapacity(count)
    var bytes: [UInt8] = []
    for _ in 0..<count {
      ids.append(try reader.readRisingID(&bytes))
    }
    return ids
  }

  /// Calls `body` with the entries of a document's operation delta.
  func withEntries<R>(of member: Int, _ body: (RawSpan) throws -> R) rethrows -> R {
    let start = member == 0 ? 0 : ends[member - 1]
    return try body(entries.span.bytes.extracting(start..<ends[member]))
  }
}
