/// A cursor over a record's merge metadata for patches; it records errors and reports them at the end.
///
/// It accepts the same bytes as ``ByteReader``, and does not build an error on the way.
struct PatchReader: ~Escapable {
  private let bytes: RawSpan
  private var offset: Int
  private var isBroken: Bool

  @_lifetime(copy bytes)
  @inline(__always)
  init(_ bytes: RawSpan, from offset: Int) {
    self.bytes = bytes
    self.offset = offset
    isBroken = offset < 0 || offset > bytes.byteCount
  }

  /// Whether everything so far was valid, and no bytes are left.
  @inline(__always)
  var isWholeAndAtEnd: Bool { !isBroken && offset == bytes.byteCount }

  @inline(__always)
  mutating func byte() -> UInt8 {
    guard !isBroken, offset < bytes.byteCount else {
      isBroken = true
      return 0
    }
    // SAFETY: the offset is inside.
    let byte = unsafe bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt8.self)
    offset &+= 1
    return byte
  }

  @inline(__always)
  mutating func varint() -> UInt64 {
    let first = byte()
    return first < 0x80 ? UInt64(first) : rest(of: first)
  }

  private mutating func rest(of first: UInt8) -> UInt64 {
    var value = UInt64(first & 0x7F)
    var shift: UInt64 = 7
    while true {
      let byte = byte()
      // The integer must neither be too large nor use more bytes than necessary.
      guard byte != 0, shift < 63 || byte == 1 else {
        isBroken = true
        return 0
      }
      value |= UInt64(byte & 0x7F) &<< shift
      if byte < 0x80 { return value }
      shift &+= 7
    }
  }

  @inline(__always)
  mutating func index(through limit: UInt64) -> UInt64 {
    let index = varint()
    if index > limit { isBroken = true }
    return isBroken ? 0 : index
  }

  @inline(__always)
  private mutating func reading(_ milliseconds: UInt64, hasCounter: Bool) -> ClockReading {
    guard hasCounter else { return ClockReading(milliseconds: milliseconds) }
    let counter = varint()
    if counter == 0 || counter > UInt64(UInt16.max) { isBroken = true }
    return ClockReading(milliseconds: milliseconds, counter: UInt16(truncatingIfNeeded: counter))
  }

  /// Reads what `ByteReader.readAge(at:)` reads.
  @inline(__always)
  mutating func age(at latest: ClockReading) -> ClockReading {
    let word = varint()
    if word >> 1 > latest.milliseconds { isBroken = true }
    return reading(latest.milliseconds &- word >> 1, hasCounter: word & 1 == 1)
  }

  /// Reads what `ByteReader.readTime(from:)` reads.
  @inline(__always)
  mutating func time(from base: ClockReading) -> ClockReading {
    let word = varint()
    let zigzag = word >> 1
    let distance = Int64(bitPattern: zigzag >> 1) ^ -Int64(bitPattern: zigzag & 1)
    let (milliseconds, overflow) = Int64(bitPattern: base.milliseconds).addingReportingOverflow(distance)
    if overflow || milliseconds < 0 || milliseconds > 0xFFFF_FFFF_FFFF { isBroken = true }
    return reading(UInt64(bitPattern: milliseconds), hasCounter: word & 1 == 1)
  }
}

/// Merge metadata that is being written, in memory that is known to be large enough.
struct PatchBytes {
  private let start: UnsafeMutableRawPointer
  private(set) var count = 0

  /// SAFETY: the memory at `start` must hold everything that is written; a varint takes up to 10 bytes.
  @inline(__always)
  init(_ start: UnsafeMutableRawPointer) { unsafe self.start = start }

  var written: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(start: start, count: count) }

  @inline(__always)
  mutating func append(byte: UInt8) {
    unsafe start.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
    count &+= 1
  }

  /// Replaces a byte that was written before.
  @inline(__always)
  func store(_ byte: UInt8, at offset: Int) {
    unsafe start.storeBytes(of: byte, toByteOffset: offset, as: UInt8.self)
  }

  @inline(__always)
  mutating func append(varint value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      append(byte: UInt8(truncatingIfNeeded: rest) | 0x80)
      rest &>>= 7
    }
    append(byte: UInt8(truncatingIfNeeded: rest))
  }

  @inline(__always)
  private mutating func append(counterOf reading: ClockReading) {
    if reading.counter != 0 { append(varint: UInt64(reading.counter)) }
  }

  /// Writes what `ByteWriter.writeTime(_:from:)` writes.
  @inline(__always)
  mutating func append(time reading: ClockReading, from base: ClockReading) {
    let distance = Int64(bitPattern: reading.milliseconds) &- Int64(bitPattern: base.milliseconds)
    let zigzag = UInt64(bitPattern: (distance &<< 1) ^ (distance &>> 63))
    append(varint: zigzag &<< 1 | (reading.counter == 0 ? 0 : 1))
    append(counterOf: reading)
  }

  /// Writes what `ByteWriter.writeAge(of:at:)` writes.
  @inline(__always)
  mutating func append(ageOf reading: ClockReading, at latest: ClockReading) {
    append(varint: (latest.milliseconds &- reading.milliseconds) &<< 1 | (reading.counter == 0 ? 0 : 1))
    append(counterOf: reading)
  }
}
