import CRDTCore
import QueryLanguage

/// A peer's subscriptions, in as many frames as necessary.
struct InterestFrame {
  static let firstFlag: UInt8 = 1
  static let lastFlag: UInt8 = 2
  /// Collections with unchanged queries need no new reconciliation.
  static let continuedFlag: UInt8 = 4

  var generation: UInt64
  var isFirst: Bool
  var isLast: Bool
  var isContinued: Bool
  var queries: [EncodedQuery]
  /// Bytes of the queries on the wire.
  var byteCount: Int

  /// An encoded query, which is parsed when there is time.
  struct EncodedQuery {
    let bytes: [UInt8]
    /// Its offset in the frame's payload.
    let offset: Int

    /// Returns the query.
    ///
    /// - Throws: The error in the query, with its offset in the payload.
    func decoded() throws(CodecError) -> SubscriptionQuery {
      do throws(CodecError) {
        var reader = ByteReader(bytes.span.bytes)
        let query = try SubscriptionQuery(from: &reader)
        try reader.expectEnd()
        return query
      } catch {
        throw CodecError(error.code, error.message, at: offset + error.offset)
      }
    }
  }

  /// Returns the frames that carry encoded queries.
  static func frames(
    generation: UInt64, _ queries: [[UInt8]], isContinued: Bool
  ) -> [[UInt8]] {
    let batches = queries.isEmpty ? [[][...]] : queries.chunks(of: 96 << 10) { $0.count + 4 }
    return batches.enumerated().map { index, batch in
      FrameCodec.frame(.interest) { out in
        out.writeVarint(generation)
        out.write(
          (index == 0 ? firstFlag : 0) | (index == batches.count - 1 ? lastFlag : 0)
            | (isContinued ? continuedFlag : 0))
        out.writeVarint(batch.count)
        for query in batch { out.writeBlob(query) }
      }
    }
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    generation = try reader.readVarint()
    let flags = try reader.readByte()
    guard flags <= 7 else { throw reader.failure(.malformed, "an interest has unknown flags") }
    isFirst = flags & Self.firstFlag != 0
    isLast = flags & Self.lastFlag != 0
    isContinued = flags & Self.continuedFlag != 0
    let count = try reader.readCount(minimumBytes: 4)
    guard count <= Limits.subscriptionsPerPeer else {
      throw reader.failure(
        .limit, "\(count) subscriptions, at most \(Limits.subscriptionsPerPeer) are allowed")
    }
    queries = []
    byteCount = reader.remaining
    for _ in 0..<count {
      let start = reader.offset
      let blob = try reader.readBlob()
      guard blob.byteCount <= SyncLimits.subscriptionBytes else {
        throw CodecError(.limit, "a subscription is too long", at: start)
      }
      queries.append(EncodedQuery(bytes: blob.copied, offset: start))
    }
  }
}
