/// A record under way in memory of a fixed size: what does not fit is left out and noted.
///
/// A patched record is written in one go, so that none of its bytes passes through an array that grows.
struct RecordSink {
  private let start: UnsafeMutableRawPointer
  private let capacity: Int
  private(set) var count = 0
  /// Whether something did not fit or did not lie inside; what stands here is of no use then.
  private(set) var isBroken = false
  /// What the record's checksum is, once it is sealed.
  private var checksum: UInt32 = 0

  /// SAFETY: `room` must outlive the sink.
  init(_ room: UnsafeMutableRawBufferPointer, start: UnsafeMutableRawPointer) {
    unsafe self.start = start
    capacity = room.count
  }

  mutating func fail() { isBroken = true }

  /// Makes sure that `bytes` more fit.
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
    // SAFETY: the byte was found to fit; so below.
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

  /// Replaces what stands at `offset`.
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

  /// Takes the last bytes off again.
  mutating func truncate(to count: Int) {
    guard count <= self.count else { return fail() }
    self.count = count
  }

  /// Fills in what a patch changes of the header of a living document, with its nodes and heap written.
  ///
  /// Each part that is summed up as one word is stored as one, since a load waits for stores that it joins.
  mutating func storeHeader(of view: borrowing RecordView, flags: UInt8, dead: Int) {
    guard dead <= Int(UInt16.max) else { return fail() }
    let root = view.bytes.load(RecordLayout.rootOffset, as: UInt32.self)
    store(UInt32(RecordLayout.version) | UInt32(flags) << 8 | UInt32(dead) << 16, at: 0)
    store(UInt64(root) | UInt64(UInt32(truncatingIfNeeded: count)) << 32, at: RecordLayout.rootOffset)
  }

  /// Sums the record up; nothing must be changed any more.
  mutating func seal() {
    guard count >= RecordLayout.headerBytes else { return fail() }
    // SAFETY: the first `count` bytes were written.
    checksum = unsafe RecordChecksum.of(
      RawSpan(_unsafeBytes: UnsafeRawBufferPointer(start: start, count: count)))
  }

  /// Writes a record of at most `capacity` bytes, which `body` must seal; `nil` when it gives up or it does not fit.
  ///
  /// It is made on the stack, so that the array is as long as the record; `unsafeUninitializedCapacity` would cost
  /// more than the copy, since it is not specialized.
  static func record(capacity: Int, _ body: (inout RecordSink) -> Bool) -> [UInt8]? {
    var record: [UInt8] = []
    return self.record(capacity: capacity, in: &record, body) ? record : nil
  }

  /// The same into memory that served before, which costs less than new memory does.
  ///
  /// - Returns: `false`, with `record` as it was, when `body` gives up or the record does not fit.
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
      // Only now, so that the copy need not wait for the sum.
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

  /// As `ByteWriter.writeTime(_:from:)`.
  mutating func append(time reading: ClockReading, from base: ClockReading) {
    let distance = Int64(reading.milliseconds) - Int64(base.milliseconds)
    let zigzag = UInt64(bitPattern: (distance << 1) ^ (distance >> 63))
    append(varint: zigzag << 1 | (reading.counter == 0 ? 0 : 1))
    append(counter: reading)
  }

  /// As `ByteWriter.writeAge(of:at:)`.
  mutating func append(ageOf reading: ClockReading, at latest: ClockReading) {
    append(varint: (latest.milliseconds &- reading.milliseconds) << 1 | (reading.counter == 0 ? 0 : 1))
    append(counter: reading)
  }

  mutating func append(zigzag value: Int64) {
    append(varint: UInt64(bitPattern: (value << 1) ^ (value >> 63)))
  }
}
