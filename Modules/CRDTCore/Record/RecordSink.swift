/// A record that is being written into memory of a fixed size; it leaves out what does not fit.
///
/// A patched record is written in one go, so none of its bytes is copied through a growing array.
struct RecordSink {
  private let start: UnsafeMutableRawPointer
  private let capacity: Int
  private(set) var count = 0
  /// Whether a write did not fit or was outside; then the bytes here are unusable.
  private(set) var isBroken = false
  /// The record's checksum, after it is sealed.
  private var checksum: UInt32 = 0

  /// SAFETY: `room` must outlive the sink.
  init(_ room: UnsafeMutableRawBufferPointer, start: UnsafeMutableRawPointer) {
    unsafe self.start = start
    capacity = room.count
  }

  mutating func fail() { isBroken = true }

  /// Checks that `bytes` more bytes fit.
  @inline(__always)
  private mutating func reserve(_ bytes: Int) -> Bool {
    guard bytes <= capacity - count else {
      isBroken = true
      return false
    }
    return true
  }

  @inline(__always)
  mutating func append(_ byte: UInt8) {
    guard reserve(1) else { return }
    // SAFETY: `reserve` found that the bytes fit; the same holds below.
    unsafe start.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
    count += 1
  }

  /// The bytes of the longest varint.
  private static let varintBytes = 10

  @inline(__always)
  mutating func append(varint value: UInt64) {
    guard reserve(Self.varintBytes) else { return }
    var rest = value
    while rest >= 0x80 {
      unsafe start.storeBytes(
        of: UInt8(truncatingIfNeeded: rest) | 0x80, toByteOffset: count, as: UInt8.self)
      count &+= 1
      rest >>= 7
    }
    unsafe start.storeBytes(of: UInt8(truncatingIfNeeded: rest), toByteOffset: count, as: UInt8.self)
    count &+= 1
  }

  mutating func append(varint value: Int) { append(varint: UInt64(value)) }

  mutating func append(_ span: RawSpan) {
    guard reserve(span.byteCount) else { return }
    unsafe span.withUnsafeBytes { bytes in
      guard let source = bytes.baseAddress else { return }
      unsafe (start + count).copyMemory(from: source, byteCount: bytes.count)
    }
    count += span.byteCount
  }

  mutating func append<T: FixedWidthInteger & BitwiseCopyable>(fixed value: T) {
    guard reserve(MemoryLayout<T>.size) else { return }
    unsafe start.storeBytes(of: value.littleEndian, toByteOffset: count, as: T.self)
    count += MemoryLayout<T>.size
  }

  /// Replaces the value at `offset`.
  mutating func store<T: FixedWidthInteger & BitwiseCopyable>(_ value: T, at offset: Int) {
    guard offset >= 0, offset <= count - MemoryLayout<T>.size else { return fail() }
    unsafe start.storeBytes(of: value.littleEndian, toByteOffset: offset, as: T.self)
  }

  mutating func store(_ span: RawSpan, at offset: Int) {
    guard offset >= 0, offset <= count - span.byteCount else { return fail() }
    unsafe span.withUnsafeBytes { bytes in
      guard let source = bytes.baseAddress else { return }
      unsafe (start + offset).copyMemory(from: source, byteCount: bytes.count)
    }
  }

  /// Removes the last bytes again.
  mutating func truncate(to count: Int) {
    guard count <= self.count else { return fail() }
    self.count = count
  }

  /// Updates the header of a living document's record, after its nodes and heap were written.
  ///
  /// Each part that the checksum reads as one word is stored as one word, because a load that spans several
  /// recent stores waits for them.
  mutating func storeHeader(of view: borrowing RecordView, flags: UInt8, dead: Int) {
    guard dead <= Int(UInt16.max) else { return fail() }
    let root = view.bytes.load(RecordLayout.rootOffset, as: UInt32.self)
    store(UInt32(RecordLayout.version) | UInt32(flags) << 8 | UInt32(dead) << 16, at: 0)
    store(UInt64(root) | UInt64(UInt32(truncatingIfNeeded: count)) << 32, at: RecordLayout.rootOffset)
  }

  /// Computes the checksum; the record must not change afterwards.
  mutating func seal() {
    guard count >= RecordLayout.headerBytes else { return fail() }
    // SAFETY: the first `count` bytes were written.
    checksum = unsafe RecordChecksum.of(
      RawSpan(_unsafeBytes: UnsafeRawBufferPointer(start: start, count: count)))
  }

  /// Writes a record of at most `capacity` bytes, which `body` must seal.
  ///
  /// It returns `nil` when `body` gives up or the record does not fit. The record is made on the stack, so
  /// that the array is only as long as the record. `unsafeUninitializedCapacity` would cost more than the
  /// copy, because it is not specialized.
  static func record(capacity: Int, _ body: (inout RecordSink) -> Bool) -> [UInt8]? {
    var record: [UInt8] = []
    return self.record(capacity: capacity, in: &record, body) ? record : nil
  }

  /// The same into memory that was used before, which costs less than new memory.
  ///
  /// - Returns: `false`, with `record` unchanged, when `body` gives up or the record does not fit.
  @inline(__always)
  static func record(
    capacity: Int, in record: inout [UInt8], _ body: (inout RecordSink) -> Bool
  ) -> Bool {
    unsafe withUnsafeTemporaryAllocation(byteCount: capacity + varintBytes, alignment: 8) { room in
      guard let start = room.baseAddress else { return false }
      // SAFETY: the sink counts the bytes that it has written, and no others are copied.
      var sink = unsafe RecordSink(room, start: start)
      guard body(&sink), !sink.isBroken, sink.count >= RecordLayout.headerBytes else { return false }
      record.removeAll(keepingCapacity: true)
      unsafe record.append(contentsOf: UnsafeRawBufferPointer(start: start, count: sink.count))
      // The checksum is stored last, so that the copy need not wait for it.
      let checksum = sink.checksum.littleEndian
      unsafe record.withUnsafeMutableBytes {
        unsafe $0.storeBytes(of: checksum, toByteOffset: RecordLayout.checksumOffset, as: UInt32.self)
      }
      return true
    }
  }
}

extension RecordSink {
  @inline(__always)
  private mutating func append(counter reading: ClockReading) {
    if reading.counter != 0 { append(varint: UInt64(reading.counter)) }
  }

  /// Writes what `ByteWriter.writeTime(_:from:)` writes.
  mutating func append(time reading: ClockReading, from base: ClockReading) {
    let distance = Int64(reading.milliseconds) - Int64(base.milliseconds)
    let zigzag = UInt64(bitPattern: (distance << 1) ^ (distance >> 63))
    append(varint: zigzag << 1 | (reading.counter == 0 ? 0 : 1))
    append(counter: reading)
  }

  /// Writes what `ByteWriter.writeAge(of:at:)` writes.
  mutating func append(ageOf reading: ClockReading, at latest: ClockReading) {
    append(varint: (latest.milliseconds &- reading.milliseconds) << 1 | (reading.counter == 0 ? 0 : 1))
    append(counter: reading)
  }

  mutating func append(zigzag value: Int64) {
    append(varint: UInt64(bitPattern: (value << 1) ^ (value >> 63)))
  }
}
