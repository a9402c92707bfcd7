import CRDTCore

/// A large transaction in columns: first the contents of all documents, then the stamps of all.
///
/// The contents keep the same bytes when a document gets a new life or a new writer. A later transfer of
/// the document therefore finds the bytes that an earlier one has brought.
enum ColumnarTransaction {
  /// The form byte after a document count of zero; the other forms are in ``TransactionEncoder``.
  static let form: UInt8 = 3

  /// Converts a transaction to columns.
  ///
  /// - Returns: `nil` for a transaction with runs or a segment, or when the result would be too large.
  static func split(_ transaction: [UInt8]) -> [UInt8]? {
    var out = ByteWriter(capacity: transaction.count + transaction.count / 16)
    var stamps = ByteWriter()
    var reader = ByteReader(transaction.span.bytes)
    do throws(CodecError) {
      let count = try reader.readCount(minimumBytes: 6)
      guard count > 0 else { return nil }
      out.writeVarint(0)
      out.write(form)
      out.writeVarint(count)
      for _ in 0..<count {
        let start = reader.offset
        try reader.skipDocumentHead()
        out.write(reader.bytes.extracting(start..<reader.offset))
        let wire = try reader.readBlob()
        guard let columns = try WireColumns(splitting: wire) else {
          out.writeVarint(wire.byteCount)
          out.write(wire)
          stamps.writeVarint(0)
          continue
        }
        out.writeBlob(columns.content)
        stamps.writeBlob(columns.stamps)
      }
    } catch {
      return nil
    }
    out.write(stamps.bytes)
    return out.count <= SyncLimits.transactionBytes ? out.bytes : nil
  }

  /// Whether a transaction has this form.
  static func isOne(_ transaction: [UInt8]) -> Bool {
    transaction.count > 2 && transaction[0] == 0 && transaction[1] == form
  }

  /// Converts a transaction back from columns, in at most as many bytes as a transaction may have.
  static func joined(_ transaction: [UInt8]) throws(CodecError) -> [UInt8] {
    var reader = ByteReader(transaction.span.bytes, offset: 2)
    let count = try reader.readCount(minimumBytes: 6)
    // The stamps come after all of the content.
    let first = reader.offset
    for _ in 0..<count {
      try reader.skipDocumentHead()
      _ = try reader.readBlob()
    }
    var stamps = ByteReader(transaction.span.bytes, offset: reader.offset)
    reader = ByteReader(transaction.span.bytes, offset: first)
    var out = ByteWriter(capacity: transaction.count)
    out.writeVarint(count)
    for _ in 0..<count {
      let start = reader.offset
      try reader.skipDocumentHead()
      out.write(reader.bytes.extracting(start..<reader.offset))
      let content = try reader.readBlob()
      let stated = try stamps.readBlob()
      if stated.byteCount == 0 {
        out.writeVarint(content.byteCount)
        out.write(content)
      } else {
        out.writeBlob(try WireColumns.joined(content, stated, limit: SyncLimits.transactionBytes))
      }
      guard out.count <= SyncLimits.transactionBytes else {
        throw reader.failure(.limit, "a group is too long")
      }
    }
    guard stamps.isAtEnd else { throw stamps.failure(.malformed, "a group has bytes left over") }
    return out.bytes
  }

  /// Returns the collections that the beginning of a transaction, or of a segment, names so far.
  ///
  /// - Returns: `nil` when it names none and is no segment.
  static func collections(_ bytes: ArraySlice<UInt8>) -> Set<TextKey>? {
    var names: Set<TextKey> = []
    let isKnown = forEachHead(bytes) { collection, _ in
      names.insert(collection)
      return true
    }
    return isKnown ? names : nil
  }

  /// Calls `body` with the collection and the id of each document that the beginning of a transaction, or of
  /// a segment, names, until it returns `false`.
  ///
  /// - Returns: `false` when it names none and is no segment.
  static func forEachHead(
    _ bytes: ArraySlice<UInt8>, _ body: (_ collection: String, _ id: RawSpan) -> Bool
  ) -> Bool {
    var reader = ByteReader(bytes.span.bytes)
    var previous: String?
    var isSegment = false
    var isNamed = false
    do throws(CodecError) {
      var count = try reader.readVarint()
      if count == 0 {
        let found = try reader.readByte()
        isSegment = found == TransactionEncoder.segmentForm
        guard isSegment || found == form else { return false }
        if isSegment { _ = try Segment(from: &reader) }
        count = try reader.readVarint()
      }
      for _ in 0..<count {
        let name = try reader.readCollection(after: &previous)
        isNamed = true
        guard body(name, try reader.readBlob()) else { return true }
        if try reader.readByte() & TransactionEncoder.checkFlag != 0 { _ = try reader.readBytes(4) }
        if !isSegment { _ = try reader.readBlob() }
      }
    } catch {
      // The bytes end in the middle of a document, which is expected.
    }
    return isNamed || isSegment
  }
}
