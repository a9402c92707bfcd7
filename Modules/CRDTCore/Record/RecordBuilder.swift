/// Writes a record's header, nodes, slots and heap; the encoders decide what they contain.
struct RecordBuilder {
  /// Bytes of memory that a finished record may leave unused, in addition to a quarter of its length.
  private static let spareBytes = 64

  var bytes: [UInt8]

  /// Begins a record of about the given number of bytes.
  init(expecting byteCount: Int = 480) {
    bytes = []
    bytes.reserveCapacity(byteCount)
    bytes.append(contentsOf: repeatElement(0, count: RecordLayout.headerBytes))
  }

  /// Appends an empty map node and returns its offset.
  mutating func beginMap(count: Int, carriesKeys: Bool) -> Int {
    let offset = bytes.count
    let size = 4 + count * (carriesKeys ? 12 : 10)
    bytes.append(contentsOf: repeatElement(0, count: size))
    store(UInt32(count << 1 | (carriesKeys ? 1 : 0)), at: offset)
    return offset
  }

  mutating func setKey(_ id: UInt16, at index: Int, of node: Int) { store(id, at: node + 4 + index * 2) }

  mutating func setKey(_ name: RawSpan, at index: Int, of node: Int) {
    let offset = bytes.count
    append(UInt16(truncatingIfNeeded: name.byteCount))
    append(name)
    store(UInt32(offset), at: node + 4 + index * 4)
  }

  /// Returns the offset of an entry's slot.
  func slotOffset(_ index: Int, of node: Int, count: Int, carriesKeys: Bool) -> Int {
    node + 4 + count * (carriesKeys ? 4 : 2) + index * 8
  }

  mutating func setSlot(_ slot: UInt64, at offset: Int) { store(slot, at: offset) }

  func mapSlot(_ node: Int) -> UInt64 { UInt64(RecordLayout.Tag.map.rawValue) | UInt64(node) << 8 }

  mutating func intSlot(_ value: Int64, counter: Bool = false) -> UInt64 {
    let fits = (value << 8) >> 8 == value
    let tag: RecordLayout.Tag = counter ? (fits ? .counter : .wideCounter) : (fits ? .int : .wideInt)
    if fits { return UInt64(tag.rawValue) | UInt64(bitPattern: value << 8) }
    defer { append(UInt64(bitPattern: value)) }
    return UInt64(tag.rawValue) | UInt64(bytes.count) << 8
  }

  mutating func doubleSlot(_ value: Double) -> UInt64 {
    let short = Float(value)
    if Double(short) == value {
      return UInt64(RecordLayout.Tag.shortDouble.rawValue) | UInt64(short.bitPattern) << 8
    }
    defer { append(ValueCodec.canonicalBits(value)) }
    return UInt64(RecordLayout.Tag.double.rawValue) | UInt64(bytes.count) << 8
  }

  mutating func stringSlot(_ utf8: RawSpan) -> UInt64 {
    guard utf8.byteCount <= 6 else { return heapSlot(.string, utf8) }
    let (word, _) = utf8.tail(from: 0)
    return UInt64(RecordLayout.Tag.shortString.rawValue) | UInt64(utf8.byteCount) << 8 | word << 16
  }

  mutating func heapSlot(_ tag: RecordLayout.Tag, _ content: RawSpan) -> UInt64 {
    let offset = UInt64(bytes.count)
    let length = UInt64(content.byteCount)
    if length >= RecordLayout.longLength { append(UInt32(truncatingIfNeeded: length)) }
    append(content)
    return UInt64(tag.rawValue) | offset << 8 | min(length, RecordLayout.longLength) << 40
  }

  /// Returns the slot of a value other than a map; bytes that do not fit the slot are added to the heap.
  mutating func slot(_ value: Value) -> UInt64 {
    switch value {
    case .null: return UInt64(RecordLayout.Tag.null.rawValue)
    case .bool(let value): return UInt64(value ? RecordLayout.Tag.yes.rawValue : RecordLayout.Tag.no.rawValue)
    case .int(let value): return intSlot(value)
    case .counter(let value): return intSlot(value, counter: true)
    case .double(let value): return doubleSlot(value)
    case .string(let value):
      var value = value
      return value.withUTF8 { utf8 in unsafe stringSlot(RawSpan(_unsafeElements: utf8)) }
    case .decimal(let value): return slot(.string(value.text))
    case .bytes(let value): return heapSlot(.bytes, value.span.bytes)
    case .array, .attachment, .map:
      var writer = ByteWriter()
      ValueCodec.write(value, to: &writer)
      let tag: RecordLayout.Tag = if case .attachment = value { .attachment } else { .array }
      return heapSlot(tag, writer.bytes.span.bytes)
    }
  }

  /// Finishes the record: appends `metadata`, fills in the header, and stores the checksum.
  mutating func finish(
    root: Int, base: Stamp, isAlive: Bool, isOwn: Bool, metadata: [UInt8], sites: inout SiteTable
  ) -> [UInt8] {
    var flags: UInt8 = isAlive ? RecordLayout.aliveFlag : 0
    if isOwn { flags |= RecordLayout.ownFlag }
    if !metadata.isEmpty { flags |= RecordLayout.metadataFlag }
    bytes[0] = RecordLayout.version
    bytes[RecordLayout.flagsOffset] = flags
    store(UInt32(root), at: RecordLayout.rootOffset)
    store(UInt32(truncatingIfNeeded: bytes.count), at: RecordLayout.metadataOffset)
    store(base.reading.rawValue, at: RecordLayout.baseReadingOffset)
    store(sites.intern(base.site), at: RecordLayout.baseSiteOffset)
    bytes.append(contentsOf: metadata)
    let checksum = RecordChecksum.of(bytes.span.bytes)
    store(checksum, at: RecordLayout.checksumOffset)
    return tightBytes
  }

  /// Finishes a record that differs from another only in the positions of its values.
  mutating func finish(root: Int, like other: borrowing RecordView) -> [UInt8] {
    let metadata = bytes.count
    append(other.metadata)
    for offset in [0, RecordLayout.flagsOffset] { bytes[offset] = other.bytes.load(offset) }
    store(UInt32(root), at: RecordLayout.rootOffset)
    store(UInt32(truncatingIfNeeded: metadata), at: RecordLayout.metadataOffset)
    store(other.baseReading.rawValue, at: RecordLayout.baseReadingOffset)
    store(other.baseSite, at: RecordLayout.baseSiteOffset)
    store(RecordChecksum.of(bytes.span.bytes), at: RecordLayout.checksumOffset)
    return tightBytes
  }

  /// The bytes in memory of about their own size.
  ///
  /// A record may be in memory for long, until its transaction commits and its observers are done.
  private var tightBytes: [UInt8] {
    guard bytes.capacity - bytes.count > bytes.count / 4 + Self.spareBytes else { return bytes }
    return unsafe bytes.withUnsafeBytes { unsafe Array($0) }
  }

  private mutating func append(_ value: some FixedWidthInteger) {
    unsafe withUnsafeBytes(of: value.littleEndian) { unsafe bytes.append(contentsOf: $0) }
  }

  private mutating func append(_ span: RawSpan) {
    unsafe span.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
  }

  private mutating func store<T: FixedWidthInteger & BitwiseCopyable>(_ value: T, at offset: Int) {
    unsafe bytes.withUnsafeMutableBytes {
      unsafe $0.storeBytes(of: value.littleEndian, toByteOffset: offset, as: T.self)
    }
  }
}
