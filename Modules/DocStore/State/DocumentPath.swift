import CRDTCore

/// A document's key in the store: its collection's number, big-endian, then its id's bytes.
enum DocumentPath {
  static let prefixBytes = 4

  static func key(_ collection: UInt32, _ id: [UInt8]) -> [UInt8] {
    var key = ByteWriter(capacity: prefixBytes + id.count)
    key.writeFixed(collection)
    key.write(id)
    return key.bytes
  }

  /// Builds a key without allocating and passes it to `body`.
  static func withKey<R>(_ collection: UInt32, _ id: RawSpan, _ body: (RawSpan) throws -> R) rethrows -> R {
    // SAFETY: every byte of the buffer is written before it is read, and it is not used after `body`.
    try unsafe withUnsafeTemporaryAllocation(byteCount: prefixBytes + id.byteCount, alignment: 4) { room in
      unsafe room.storeBytes(of: collection.bigEndian, as: UInt32.self)
      unsafe id.withUnsafeBytes { bytes in
        unsafe UnsafeMutableRawBufferPointer(rebasing: room[prefixBytes...]).copyMemory(from: bytes)
      }
      return try unsafe body(RawSpan(_unsafeBytes: UnsafeRawBufferPointer(room)))
    }
  }

  static func collection(of key: RawSpan) -> UInt32? {
    guard key.byteCount >= prefixBytes else { return nil }
    return UInt32(bigEndian: unsafe key.unsafeLoadUnaligned(fromByteOffset: 0, as: UInt32.self))
  }

  /// The id's bytes in a complete key.
  @_lifetime(copy key)
  static func id(of key: RawSpan) -> RawSpan {
    key.extracting(min(prefixBytes, key.byteCount)..<key.byteCount)
  }

  static func idBytes(of key: RawSpan) -> [UInt8] {
    unsafe id(of: key).withUnsafeBytes { unsafe Array($0) }
  }
}
