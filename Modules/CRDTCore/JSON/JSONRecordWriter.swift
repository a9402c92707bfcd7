/// Writes the record of a tape into memory of a size that was computed before.
// SAFETY: every write goes through `reserve`, which compares with the capacity. The memory outlives the
// writer, which exists only inside the closure that received the memory.
struct JSONRecordWriter: ~Escapable {
  private let start: UnsafeMutableRawPointer
  private let capacity: Int
  private let text: RawSpan
  private let members: [JSONTape.Member]
  private let order: [Int]
  private let aside: [UInt8]
  private let root: (place: Int, count: Int)
  private let stamp: Stamp
  private let stampHash: HashLanes
  private(set) var count = 0
  private(set) var summary: Summary

  @_lifetime(borrow text)
  init(
    _ start: UnsafeMutableRawPointer, capacity: Int, text: borrowing RawSpan, tape: borrowing JSONTape,
    stamp: Stamp, stampHash: HashLanes, summary: Summary
  ) {
    unsafe self.start = start
    self.capacity = capacity
    self.text = copy text
    members = tape.members
    order = tape.order
    aside = tape.aside
    root = tape.root
    self.stamp = stamp
    self.stampHash = stampHash
    self.summary = summary
  }

  /// - Returns: `false` when the memory was not sufficient.
  mutating func write(site: UInt32, isOwn: Bool) -> Bool {
    guard let header = reserve(RecordLayout.headerBytes) else { return false }
    unsafe (start + header).initializeMemory(as: UInt8.self, repeating: 0, count: RecordLayout.headerBytes)
    guard let root = writeMap(root, path: StateHash.root) else { return false }
    store(RecordLayout.version, at: 0)
    store(RecordLayout.aliveFlag | (isOwn ? RecordLayout.ownFlag : 0), at: RecordLayout.flagsOffset)
    store(UInt32(root), at: RecordLayout.rootOffset)
    store(UInt32(count), at: RecordLayout.metadataOffset)
    store(stamp.reading.rawValue, at: RecordLayout.baseReadingOffset)
    store(site, at: RecordLayout.baseSiteOffset)
    let written = unsafe RawSpan(_unsafeStart: UnsafeRawPointer(start), byteCount: count)
    store(RecordChecksum.of(written), at: RecordLayout.checksumOffset)
    return true
  }

  private mutating func writeMap(_ map: (place: Int, count: Int), path: HashLanes) -> Int? {
    guard let node = reserve(4 + map.count * 10) else { return nil }
    store(UInt32(map.count << 1), at: node)
    let slots = node + 4 + map.count * 2
    for index in 0..<map.count {
      let member = members[order[map.place + index]]
      store(member.key.id, at: node + 4 + index * 2)
      guard let slot = writeValue(member, path: path.combined(with: member.key.hash)) else { return nil }
      store(slot, at: slots + index * 8)
    }
    return node
  }

  private mutating func writeValue(_ member: JSONTape.Member, path: HashLanes) -> UInt64? {
    let entry = path.combined(with: stampHash)
    switch member.kind {
    case .null:
      summary.add(entry.combined(with: StateHash.bits(0, .null)))
      return UInt64(RecordLayout.Tag.null.rawValue)
    case .bool:
      summary.add(entry.combined(with: StateHash.bits(member.content, .no)))
      return UInt64(member.content == 1 ? RecordLayout.Tag.yes.rawValue : RecordLayout.Tag.no.rawValue)
    case .int:
      summary.add(entry.combined(with: StateHash.bits(member.content, .int)))
      let value = Int64(bitPattern: member.content)
      if (value << 8) >> 8 == value {
        return UInt64(RecordLayout.Tag.int.rawValue) | UInt64(bitPattern: value << 8)
      }
      return wide(.wideInt, member.content)
    case .double:
      summary.add(entry.combined(with: StateHash.bits(member.content, .double)))
      let value = Double(bitPattern: member.content)
      let short = Float(value)
      if Double(short) == value {
        return UInt64(RecordLayout.Tag.shortDouble.rawValue) | UInt64(short.bitPattern) << 8
      }
      return wide(.double, member.content)
    case .textInPlace:
      let start = Int(member.content)
      return writeText(text.extracting(start..<start + member.count), entry)
    case .textAside:
      let start = Int(member.content)
      let aside = self.aside
      return writeText(aside.span.bytes.extracting(start..<start + member.count), entry)
    case .array:
      let start = Int(member.content)
      let aside = self.aside
      let content = aside.span.bytes.extracting(start..<start + member.count)
      summary.add(entry.combined(with: StateHash.bytes(content, .array)))
      return heap(.array, content)
    case .map:
      summary.add(entry.combined(with: StateHash.map))
      return writeMap((Int(member.content), member.count), path: path).map {
        UInt64(RecordLayout.Tag.map.rawValue) | UInt64($0) << 8
      }
    }
  }

  private mutating func writeText(_ utf8: RawSpan, _ entry: HashLanes) -> UInt64? {
    summary.add(entry.combined(with: StateHash.bytes(utf8, .string)))
    guard utf8.byteCount <= 6 else { return heap(.string, utf8) }
    let (word, _) = utf8.tail(from: 0)
    return UInt64(RecordLayout.Tag.shortString.rawValue) | UInt64(utf8.byteCount) << 8 | word << 16
  }

  private mutating func heap(_ tag: RecordLayout.Tag, _ content: RawSpan) -> UInt64? {
    guard let offset = reserve(content.byteCount) else { return nil }
    unsafe content.withUnsafeBytes { bytes in
      guard let source = bytes.baseAddress else { return }
      unsafe (start + offset).copyMemory(from: source, byteCount: bytes.count)
    }
    return UInt64(tag.rawValue) | UInt64(offset) << 8 | UInt64(content.byteCount) << 40
  }

  private mutating func wide(_ tag: RecordLayout.Tag, _ bits: UInt64) -> UInt64? {
    guard let offset = reserve(8) else { return nil }
    store(bits, at: offset)
    return UInt64(tag.rawValue) | UInt64(offset) << 8
  }

  @inline(__always)
  private mutating func reserve(_ byteCount: Int) -> Int? {
    guard byteCount <= capacity - count else { return nil }
    defer { count += byteCount }
    return count
  }

  /// Writes to a place that was reserved before.
  @inline(__always)
  private func store<T: FixedWidthInteger & BitwiseCopyable>(_ value: T, at offset: Int) {
    unsafe start.storeBytes(of: value.littleEndian, toByteOffset: offset, as: T.self)
  }
}
