/// Sets a scalar in a living document that only one store has written: this one, or a change's author.
///
/// This is the most frequent change of all, so it takes no unnecessary step. Such a record's metadata about
/// its writer and the stamps of its fields takes only a few bytes, which are written anew. The result is the
/// same as that of ``FieldPatch``, which handles more complex records.
enum SolePatch {
  /// The most fields with their own stamp that this type handles.
  private static let marks = 24
  /// The most bytes that the writer and that many marks take.
  private static let metadataBytes = 48 + (marks + 1) * 24

  /// Replaces `old` at `location` with `content`.
  ///
  /// `old` must be neither a map nor a counter, and the document must be alive.
  ///
  /// - Returns: The new summary, with the record in `memory`; `nil` if this type cannot handle the record.
  @inline(__always)
  static func set(
    _ view: borrowing RecordView, _ old: borrowing ValueRef, at location: EntryLocation,
    to content: borrowing SlotContent, _ former: Summary, _ stamping: Stamping, isOwn: Bool,
    _ sites: borrowing SiteTable, in memory: inout [UInt8]
  ) -> Summary? {
    guard view.isOwn == isOwn, let place = HeapPlace(content, over: old, in: view) else { return nil }
    let base = view.baseReading
    var reader = PatchReader(view.bytes, from: view.metadataOffset)
    guard let writer = Writer.read(view, base, isOwn: isOwn, &reader), sites[writer.ordinal] == stamping.site,
      place.dead <= RecordLayout.deadLimit(view.metadataOffset)
    else { return nil }
    let reading = stamping.reading(after: max(base, writer.latest))
    // A write of another store keeps its reading, and must be by a writer whose birth is known.
    guard isOwn ? stamping.goesOn(from: writer.birth) : reading == stamping.reading else { return nil }
    var formerReading = base
    let isMade = unsafe withUnsafeTemporaryAllocation(byteCount: metadataBytes, alignment: 8) { room in
      guard let start = room.baseAddress else { return false }
      // SAFETY: a head takes up to 48 bytes, each mark 23, and `writeMarks` writes at most `marks` + 1 of
      // them.
      var out = unsafe PatchBytes(start)
      writer.write(at: reading, from: base, isOwn: isOwn, to: &out)
      guard
        writeMarks(
          &reader, writer.latest, reading, at: location.entry, &formerReading, to: &out, isFresh: view.isFresh
        )
      else { return false }
      return place.write(
        content, view, at: location.slotOffset, metadata: out.written, isOwn: isOwn, to: &memory)
    }
    guard isMade else { return nil }
    let site = stamping.siteHash
    var summary = former
    summary.subtract(StateHash.included(writer.birth, writer.latest, site))
    summary.add(StateHash.included(writer.birth, reading, site))
    let path = location.path
    summary.subtract(path.combined(with: StateHash.stamp(formerReading, site)).combined(with: old.stateHash))
    summary.add(path.combined(with: stamping.hash(at: reading)).combined(with: content.hash))
    // The checksum comes last, because a load waits for what was just stored.
    let sum = RecordChecksum.of(memory.span.bytes).littleEndian
    unsafe memory.withUnsafeMutableBytes {
      unsafe $0.storeBytes(of: sum, toByteOffset: RecordLayout.checksumOffset, as: UInt32.self)
    }
    return summary
  }

  /// The write between two records, if all it did was to set an existing entry.
  struct Write {
    /// The writer's place among the sites; below are its birth and its latest reading before.
    let ordinal: UInt32
    let birth: ClockReading
    let latest: ClockReading
    let reading: ClockReading
    let entry: Int
    /// The clock reading of the earlier write of the entry.
    let former: ClockReading
  }

  /// Returns what the metadata of two records show about a write between them.
  ///
  /// Only the summaries show whether this write was the whole difference.
  ///
  /// - Returns: `nil` if this type cannot handle the records.
  static func write(from former: borrowing RecordView, to view: borrowing RecordView) -> Write? {
    let base = view.baseReading
    guard former.isOwn == view.isOwn, former.baseReading == base, !view.isFresh else { return nil }
    var old = PatchReader(former.bytes, from: former.metadataOffset)
    var new = PatchReader(view.bytes, from: view.metadataOffset)
    guard let before = Writer.read(former, base, isOwn: view.isOwn, &old),
      let after = Writer.read(view, base, isOwn: view.isOwn, &new), before.ordinal == after.ordinal,
      before.birth == after.birth, before.latest < after.latest,
      let entry = entry(markedAt: after.latest, &new)
    else { return nil }
    var formerReading = base
    guard former.isFresh || reading(of: entry, latest: before.latest, &old, &formerReading) else {
      return nil
    }
    return Write(
      ordinal: after.ordinal, birth: after.birth, latest: before.latest, reading: after.latest, entry: entry,
      former: formerReading)
  }

  /// Returns the only entry that was set at the writer's latest reading.
  private static func entry(markedAt latest: ClockReading, _ reader: inout PatchReader) -> Int? {
    var found: Int?
    var isOnly = true
    let isWhole = forEachMark(latest, &reader) { entry, time in
      guard time == latest else { return }
      if found != nil { isOnly = false }
      found = entry
    }
    return isWhole && isOnly ? found : nil
  }

  /// Finds when an entry was set, if it is marked; `false` if this type cannot handle the record.
  private static func reading(
    of entry: Int, latest: ClockReading, _ reader: inout PatchReader, _ found: inout ClockReading
  ) -> Bool {
    forEachMark(latest, &reader) { if $0 == entry { found = $1 } }
  }

  /// - Returns: `false` if there are marks of another kind, or anything other than marks.
  @inline(__always)
  private static func forEachMark(
    _ latest: ClockReading, _ reader: inout PatchReader, _ body: (Int, ClockReading) -> Void
  ) -> Bool {
    let count = reader.byte()
    guard count <= marks &+ 1 else { return false }
    var at: UInt64 = 0
    for _ in 0..<count {
      let word = reader.index(through: UInt64(Limits.recordBytes))
      // Of the three kinds of marks, only those of the writer are possible here.
      guard word % 3 == 1 else { return false }
      at &+= word / 3
      body(Int(truncatingIfNeeded: at), reader.age(at: latest))
      at &+= 1
    }
    return reader.isWholeAndAtEnd
  }

  /// The only writer, which wrote the base.
  private struct Writer {
    var ordinal: UInt32
    var birth: ClockReading
    var latest: ClockReading

    @inline(__always)
    static func read(
      _ view: borrowing RecordView, _ base: ClockReading, isOwn: Bool, _ reader: inout PatchReader
    ) -> Writer? {
      guard base > .zero else { return nil }
      if view.isFresh {
        return reader.isWholeAndAtEnd ? Writer(ordinal: view.baseSite, birth: base, latest: base) : nil
      }
      guard reader.byte() == RecordMetadata.Parts.marks.rawValue, reader.byte() == 1 else { return nil }
      let ordinal = UInt32(truncatingIfNeeded: reader.index(through: UInt64(UInt32.max)))
      let latest = reader.time(from: base)
      let birth = reader.age(at: latest)
      guard reader.byte() == 1, reader.byte() == (isOwn ? 1 : 0) else { return nil }
      return Writer(ordinal: ordinal, birth: birth, latest: latest)
    }

    @inline(__always)
    func write(at reading: ClockReading, from base: ClockReading, isOwn: Bool, to out: inout PatchBytes) {
      out.append(byte: RecordMetadata.Parts.marks.rawValue)
      out.append(byte: 1)
      out.append(varint: UInt64(ordinal))
      out.append(time: reading, from: base)
      out.append(ageOf: birth, at: reading)
      // The places of the base's writer and the store's own.
      out.append(byte: 1)
      out.append(byte: isOwn ? 1 : 0)
    }
  }

  /// Writes the marks and the new one; their ages are relative to the writer's new reading.
  @inline(__always)
  private static func writeMarks(
    _ reader: inout PatchReader, _ latest: ClockReading, _ reading: ClockReading, at entry: Int,
    _ former: inout ClockReading, to out: inout PatchBytes, isFresh: Bool
  ) -> Bool {
    let new = UInt64(truncatingIfNeeded: entry)
    let count = isFresh ? 0 : reader.byte()
    guard count <= marks else { return false }
    let countOffset = out.count
    out.append(byte: 1)
    var written: UInt8 = 1
    // One above the entry that was written last.
    var next: UInt64 = 0
    var at: UInt64 = 0
    var isPending = true
    for _ in 0..<count {
      let word = reader.index(through: UInt64(Limits.recordBytes))
      // Of the three kinds of marks, only those of the writer are possible here.
      guard word % 3 == 1 else { return false }
      at &+= word / 3
      let time = reader.age(at: latest)
      if at >= new, isPending {
        isPending = false
        out.append(varint: (new &- next) &* 3 &+ 1)
        out.append(ageOf: reading, at: reading)
        next = new &+ 1
      }
      if at == new {
        former = time
      } else {
        out.append(varint: (at &- next) &* 3 &+ 1)
        out.append(ageOf: time, at: reading)
        next = at &+ 1
        written &+= 1
      }
      at &+= 1
    }
    if isPending {
      out.append(varint: (new &- next) &* 3 &+ 1)
      out.append(ageOf: reading, at: reading)
    }
    out.store(written, at: countOffset)
    return reader.isWholeAndAtEnd
  }
}

/// The place of a new value: in the slot, over the bytes of the old one, or after all others.
private struct HeapPlace {
  let slot: UInt64
  /// The length of the part of the former record that is kept.
  let kept: Int
  /// The offset of the bytes that are overwritten; if it is `kept`, the bytes are appended.
  let offset: Int
  let isBehind: Bool
  let dead: Int

  /// - Returns: `nil` for changes that only the general way can make.
  @inline(__always)
  init?(_ content: borrowing SlotContent, over old: borrowing ValueRef, in view: borrowing RecordView) {
    let end = view.metadataOffset
    guard end >= RecordLayout.headerBytes, end <= view.bytes.byteCount else { return nil }
    let (offset, length) = old.heapRange
    let tag = UInt64(content.tag.rawValue)
    switch content.place {
    case .slot:
      (slot, kept, self.offset, isBehind) = (content.word, end, end, false)
      dead = view.deadBytes &+ length
    case .word:
      let isOver = length == 8 && old.isWord
      (kept, self.offset, isBehind) = (end, isOver ? offset : end, !isOver)
      slot = tag | UInt64(truncatingIfNeeded: self.offset) << 8
      dead = view.deadBytes &+ (isOver ? 0 : length)
    case .bytes:
      let count = content.bytes.byteCount
      guard count < RecordLayout.longLength, old.slot >> 40 < RecordLayout.longLength else { return nil }
      if count <= length, !old.isWord {
        (kept, self.offset, isBehind) = (end, offset, false)
        dead = view.deadBytes &+ length &- count
      } else {
        let isLast = length > 0 && offset &+ length == end
        (kept, isBehind) = (isLast ? offset : end, true)
        self.offset = kept
        dead = view.deadBytes &+ (isLast ? 0 : length)
      }
      slot = tag | UInt64(truncatingIfNeeded: self.offset) << 8 | UInt64(truncatingIfNeeded: count) << 40
    }
  }

  /// Resizes memory that is then overwritten in full, in one call for any former contents.
  ///
  /// New bytes are at first a part of `filler`.
  @inline(__always)
  private static func resize(_ memory: inout [UInt8], to count: Int, with filler: UnsafeRawBufferPointer) {
    let missing = count &- memory.count
    if missing < 0 { memory.removeLast(0 &- missing) }
    guard missing > 0 else { return }
    let filling = min(missing, filler.count)
    unsafe memory.append(contentsOf: UnsafeRawBufferPointer(rebasing: filler[..<filling]))
    if missing > filling { memory.append(contentsOf: repeatElement(0, count: missing &- filling)) }
  }

  /// Writes the new record.
  ///
  /// - Returns: `false`, with nothing written, for a record whose values are not inside it.
  @inline(__always)
  func write(
    _ content: borrowing SlotContent, _ view: borrowing RecordView, at slotOffset: Int,
    metadata: UnsafeRawBufferPointer, isOwn: Bool, to memory: inout [UInt8]
  ) -> Bool {
    let byteCount = content.place == .word ? 8 : content.place == .bytes ? content.bytes.byteCount : 0
    guard kept >= RecordLayout.headerBytes, kept <= view.bytes.byteCount,
      slotOffset >= RecordLayout.headerBytes, slotOffset <= kept &- 8,
      isBehind || (offset >= 0 && offset <= kept &- byteCount) || byteCount == 0
    else { return false }
    let end = kept &+ (isBehind ? byteCount : 0)
    unsafe view.bytes.withUnsafeBytes { unsafe Self.resize(&memory, to: end &+ metadata.count, with: $0) }
    var flags = RecordLayout.aliveFlag | RecordLayout.metadataFlag
    if isOwn { flags |= RecordLayout.ownFlag }
    let head = UInt32(RecordLayout.version) | UInt32(flags) << 8 | UInt32(truncatingIfNeeded: dead) << 16
    let root = view.bytes.load(RecordLayout.rootOffset, as: UInt32.self)
    unsafe memory.withUnsafeMutableBytes { bytes in
      guard let start = bytes.baseAddress else { return }
      // SAFETY: the memory is as long as the record; header, slot and value were found to be inside.
      unsafe view.bytes.withUnsafeBytes {
        if let source = $0.baseAddress { unsafe start.copyMemory(from: source, byteCount: kept) }
      }
      if let source = metadata.baseAddress {
        unsafe (start + end).copyMemory(from: source, byteCount: metadata.count)
      }
      unsafe bytes.storeBytes(of: slot.littleEndian, toByteOffset: slotOffset, as: UInt64.self)
      unsafe bytes.storeBytes(of: head.littleEndian, as: UInt32.self)
      unsafe bytes.storeBytes(
        of: (UInt64(root) | UInt64(UInt32(truncatingIfNeeded: end)) << 32).littleEndian,
        toByteOffset: RecordLayout.rootOffset, as: UInt64.self)
      if byteCount > 0 {
        unsafe content.withBytes {
          unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[offset...]).copyMemory(from: $0)
        }
      }
    }
    return true
  }
}

extension SlotContent {
  /// Calls `body` with the bytes for the heap.
  @inline(__always)
  fileprivate func withBytes(_ body: (UnsafeRawBufferPointer) -> Void) {
    if place == .word {
      unsafe withUnsafeBytes(of: word.littleEndian) { unsafe body($0) }
    } else {
      unsafe bytes.withUnsafeBytes { unsafe body($0) }
    }
  }
}
