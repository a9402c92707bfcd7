import CRDTCore

/// The encoding of a segment: the heads of all documents, then their contents.
///
/// A head says why a document is sent, which can change after a link broke. The contents stay the same bytes,
/// and need not be sent again.
enum SegmentColumns {
  /// Splits documents that each follow their head.
  static func split(_ documents: RawSpan, count: Int) -> [UInt8] {
    var heads = ByteWriter(capacity: count * 32)
    var contents = ByteWriter(capacity: documents.byteCount)
    var reader = ByteReader(documents)
    do throws(CodecError) {
      for _ in 0..<count {
        let start = reader.offset
        try reader.skipDocumentHead()
        let end = reader.offset
        heads.write(documents.extracting(start..<end))
        _ = try reader.readBlob()
        contents.write(documents.extracting(end..<reader.offset))
      }
    } catch {
      preconditionFailure("A group that was just encoded is none: \(error)")
    }
    return heads.bytes + contents.bytes
  }

  /// Returns where the heads end in a prefix of a transaction.
  ///
  /// Returns `nil` if the transaction is not a segment, or if the prefix ends within the heads.
  static func headsEnd(in transaction: ArraySlice<UInt8>) -> Int? {
    guard transaction.starts(with: [0, TransactionEncoder.segmentForm]) else { return nil }
    var reader = ByteReader(transaction.span.bytes, offset: 2)
    do throws(CodecError) {
      _ = try Segment(from: &reader)
      for _ in 0..<(try reader.readVarint()) { try reader.skipDocumentHead() }
    } catch {
      return nil
    }
    return transaction.startIndex + reader.offset
  }
}

extension ByteReader {
  /// Skips a document's collection, id and flags, and the check if the flags announce one.
  mutating func skipDocumentHead() throws(CodecError) {
    for _ in 0..<2 { _ = try readBlob() }
    if try readByte() & TransactionEncoder.checkFlag != 0 { _ = try readBytes(4) }
  }
}
