import CRDTCore

/// A document's key in the tables of ids: its collection's number in as few bytes as it takes, then the id's.
enum IDKey {
  /// Hands the key of the document with the key `path` to `body`.
  @inline(__always)
  static func with<R, Failure: Error>(
    _ path: RawSpan, _ body: (RawSpan) throws(Failure) -> R
  ) throws(Failure) -> R {
    let collection = DocumentPath.collection(of: path) ?? 0
    if collection < OrderedInteger.singleByteLimit {
      // The same bytes without the zeros in front.
      return try body(path.extracting(max(DocumentPath.prefixBytes - 1, 0)..<path.byteCount))
    }
    let key = bytes(collection, DocumentPath.id(of: path))
    return try body(key.rawBytes)
  }

  static func bytes(_ collection: UInt32, _ id: RawSpan) -> [UInt8] {
    var key = ByteWriter(capacity: OrderedInteger.maximumBytes + id.byteCount)
    key.write(OrderedInteger.bytes(UInt64(collection)))
    key.write(id)
    return key.bytes
  }

  /// The collection of a key, and where the id begins; `nil` for one that is none.
  @inline(__always)
  static func parse(_ key: RawSpan) -> (collection: UInt32, idStart: Int)? {
    guard let (collection, count) = OrderedInteger.read(key), let collection = UInt32(exactly: collection)
    else { return nil }
    return (collection, count)
  }
}
