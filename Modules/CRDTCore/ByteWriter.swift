/// Appends integers and strings in the encodings of the formats; integers of fixed width are big-endian.
package struct ByteWriter {
  package var bytes: [UInt8]

  package init(capacity: Int = 0) {
    bytes = []
    bytes.reserveCapacity(capacity)
  }

  package var count: Int { bytes.count }

  package mutating func write(_ byte: UInt8) { bytes.append(byte) }

  package mutating func write(_ other: some Collection<UInt8>) { bytes.append(contentsOf: other) }

  // Other modules would call the generic function unspecialized.
  package mutating func write(_ other: [UInt8]) { write(other.span.bytes) }

  package mutating func write(_ other: ArraySlice<UInt8>) { write(other.span.bytes) }

  package mutating func write(_ span: RawSpan) {
    unsafe span.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
  }

  package mutating func writeFixed(_ value: some FixedWidthInteger) {
    unsafe withUnsafeBytes(of: value.bigEndian) { unsafe bytes.append(contentsOf: $0) }
  }

  /// LEB128: seven bits a byte, least significant first.
  package mutating func writeVarint(_ value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(truncatingIfNeeded: rest))
  }

  package mutating func writeVarint(_ value: Int) { writeVarint(UInt64(value)) }

  /// Zigzag, so that small negative numbers stay short.
  package mutating func writeSignedVarint(_ value: Int64) {
    writeVarint(UInt64(bitPattern: (value << 1) ^ (value >> 63)))
  }

  /// A varint length, then the UTF-8 bytes.
  package mutating func writeString(_ string: String) {
    var string = string
    string.withUTF8 { utf8 in
      writeVarint(utf8.count)
      unsafe bytes.append(contentsOf: utf8)
    }
  }

  package mutating func writeBlob(_ blob: some Collection<UInt8>) {
    writeVarint(blob.count)
    bytes.append(contentsOf: blob)
  }

  package mutating func writeBlob(_ blob: [UInt8]) { writeBlob(blob[...]) }

  package mutating func writeBlob(_ blob: ArraySlice<UInt8>) {
    writeVarint(blob.count)
    write(blob)
  }

  package mutating func write(_ site: SiteID) {
    writeFixed(site.high)
    writeFixed(site.low)
  }
}
