import CRDTCore

/// A document's key in the tables of ids: its collection's number in as few bytes as possible, then its id.
enum IDKey {
  /// Passes `body` the key of the document that has the key `path`.
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

  /// The collection of a key, and where the id begins; `nil` if the key is not valid.
  @inline(__always)
  static func parse(_ key: RawSpan) -> (collection: UInt32, idStart: Int)? {
    guard let (collection, count) = OrderedInteger.read(key), let collection = UInt32(exactly: collection)
    else { return nil }
    return (collection, count)
  }
}
