/// A cursor over untrusted bytes: every read is checked, and an error contains the offset.
package struct ByteReader: ~Escapable {
  package let bytes: RawSpan
  package private(set) var offset: Int

  @_lifetime(copy bytes)
  package init(_ bytes: RawSpan, offset: Int = 0) {
    self.bytes = bytes
    self.offset = offset
  }

  package var remaining: Int { bytes.byteCount - offset }
  package var isAtEnd: Bool { offset >= bytes.byteCount }

  package func failure(_ code: CodecError.Code, _ message: String) -> CodecError {
    CodecError(code, message, at: offset)
  }

  package mutating func readByte() throws(CodecError) -> UInt8 {
    guard offset < bytes.byteCount else { throw failure(.truncated, "the input ends early") }
    defer { offset += 1 }
    return unsafe bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt8.self)
  }

  package mutating func readFixed<T: FixedWidthInteger & BitwiseCopyable>(
    as type: T.Type = T.self
  ) throws(CodecError) -> T {
    let width = MemoryLayout<T>.size
    guard remaining >= width else { throw failure(.truncated, "the input ends early") }
    defer { offset += width }
    return T(bigEndian: unsafe bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: T.self))
  }

  /// The next `count` bytes, in place.
  @_lifetime(copy self)
  package mutating func readBytes(_ count: Int) throws(CodecError) -> RawSpan {
    guard count >= 0, remaining >= count else { throw failure(.truncated, "the input ends early") }
    defer { offset += count }
    return bytes.extracting(offset..<offset + count)
  }

  /// Reads a LEB128 integer, and refuses one that is longer than its value needs.
  ///
  /// So every value has one encoding.
  @inline(__always)
  package mutating func readVarint() throws(CodecError) -> UInt64 {
    // Most integers take one byte.
    if offset < bytes.byteCount {
      let byte = unsafe bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt8.self)
      if byte < 0x80 {
        offset += 1
        return UInt64(byte)
      }
    }
    return try readLongVarint()
  }

  private mutating func readLongVarint() throws(CodecError) -> UInt64 {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while true {
      let byte = try readByte()
      guard shift < 63 || byte <= 1 else { throw failure(.malformed, "a number is too long") }
      value |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 {
        guard byte != 0 || shift == 0 else {
          throw failure(.malformed, "a number is not in its shortest form")
        }
        return value
      }
      shift += 7
    }
  }

  /// Reads a count of items of at least `minimumBytes` each, and checks it against the remaining bytes.
  package mutating func readCount(minimumBytes: Int = 1) throws(CodecError) -> Int {
    let count = try readVarint()
    // A division costs more than everything else here.
    let most = minimumBytes <= 1 ? remaining : remaining / minimumBytes
    guard count <= UInt64(most) else {
      throw failure(.truncated, "a count exceeds the input")
    }
    return Int(count)
  }

  package mutating func readSignedVarint() throws(CodecError) -> Int64 {
    let raw = try readVarint()
    return Int64(bitPattern: raw >> 1) ^ -Int64(bitPattern: raw & 1)
  }

  /// A varint length, then that many bytes, in place.
  @_lifetime(copy self)
  package mutating func readBlob() throws(CodecError) -> RawSpan {
    let count = try readCount()
    return try readBytes(count)
  }

  package mutating func readString() throws(CodecError) -> String {
    let start = offset
    let span = try readBlob()
    guard let string = span.text else {
      throw CodecError(.malformed, "a string is not UTF-8", at: start)
    }
    return string
  }

  package mutating func readSite() throws(CodecError) -> SiteID {
    SiteID(high: try readFixed(), low: try readFixed())
  }
}
