/// Sets one scalar in a living document's record: the commonest change there is, in one pass over the bytes.
///
/// It comes to the same as ``RecordPatch``, which takes all that needs more than this: several changes, counters,
/// and records that carry increments, removals or floors of entries. Here nothing is allocated but the new record.
struct RegisterPatch: ~Escapable {
  /// Writers of a document that are handled here.
  private static let limit = 8

  private struct Writer {
    var ordinal: UInt32 = 0
    var birth = ClockReading.zero
    var latest = ClockReading.zero
  }

  private let view: RecordView
  private var reader: ByteReader
  private var parts: RecordMetadata.Parts = []
  /// The writers as they stand in the record, by place from 1.
  private var writers = InlineArray<9, Writer>(repeating: Writer())
  private var count = 0
  private var base = 0
  private var own = 0
  private var life = (place: 0, reading: ClockReading.zero)
  private var floor = (ordinal: 0, reading: ClockReading.zero)
  /// Where a new writer comes to stand; beyond all others when there is none.
  private var insertion = Int.max

  /// Makes one change that sets a scalar.
  ///
  /// - Returns: `nil` for what ``RecordPatch`` or the tree must do.
  static func apply(
    _ edit: Edit, _ stored: StoredDocument, _ stamping: Stamping, _ tables: inout RecordTables
  ) -> EncodedDocument? {
    switch edit {
    case .set(let path, .int(let value)), .replace(let path, .int(let value)):
      return set(path, to: SlotContent(int: value), heapBytes: 8, stored, stamping, &tables)
    case .set(let path, .string(var text)), .replace(let path, .string(var text)):
      return text.withUTF8 { utf8 in
        let content = unsafe SlotContent(string: RawSpan(_unsafeElements: utf8))
        return set(path, to: content, heapBytes: utf8.count, stored, stamping, &tables)
      }
    case .set(let path, .double(let value)), .replace(let path, .double(let value)):
      return set(path, to: SlotContent(double: value), heapBytes: 8, stored, stamping, &tables)
    case .set(let path, .bool(let value)), .replace(let path, .bool(let value)):
      return set(path, to: SlotContent(bool: value), heapBytes: 0, stored, stamping, &tables)
    case .set(let path, .null), .replace(let path, .null):
      return set(path, to: SlotContent(null: ()), heapBytes: 0, stored, stamping, &tables)
    default: return nil
    }
  }

  private static func set(
    _ path: [String], to content: borrowing SlotContent, heapBytes: Int, _ stored: StoredDocument,
    _ stamping: Stamping, _ tables: inout RecordTables
  ) -> EncodedDocument? {
    let view = RecordView(stored.record)
    guard view.isAlive, let location = view.locate(path, tables.keys) else { return nil }
    let old = ValueRef(view.bytes, slotAt: location.slotOffset)
    var patch = RegisterPatch(view)
    guard old.kind != .map, old.kind != .counter, patch.readWriters() else { return nil }
    return patch.set(
      content, over: old, location, heapBytes: heapBytes, stored.summary, stamping, &tables.sites)
  }

  @_lifetime(copy view)
  private init(_ view: borrowing RecordView) {
    self.view = RecordView(view.bytes)
    reader = ByteReader(view.metadata)
  }

  /// Reads what stands before the marks; `false` for what is not handled here.
  private mutating func readWriters() -> Bool {
    do throws(CodecError) {
      return view.isFresh ? readFresh() : try read()
    } catch {
      return false
    }
  }

  private mutating func readFresh() -> Bool {
    let reading = view.baseReading
    guard reader.remaining == 0, reading > .zero else { return false }
    writers[1] = Writer(ordinal: view.baseSite, birth: reading, latest: reading)
    count = 1
    base = 1
    own = view.isOwn ? 1 : 0
    life = (1, reading)
    return true
  }

  private mutating func read() throws(CodecError) -> Bool {
    parts = RecordMetadata.Parts(rawValue: try reader.readByte())
    guard parts.isSubset(of: [.life, .floor, .marks]) else { return false }
    count = try reader.readIndex(through: Limits.recordBytes)
    guard count <= Self.limit else { return false }
    let base = view.baseReading
    for place in 1..<(count + 1) {
      let ordinal = UInt32(try reader.readIndex(through: Int(UInt32.max)))
      let latest = try reader.readTime(from: base)
      writers[place] = Writer(ordinal: ordinal, birth: try reader.readAge(at: latest), latest: latest)
    }
    self.base = try reader.readIndex(through: count)
    own = try reader.readIndex(through: count)
    // Default data in the place of the base is for others.
    guard self.base > 0 else { return false }
    life = (self.base, base)
    if parts.contains(.life) {
      let place = try reader.readIndex(through: count)
      life = (place, place == 0 ? .zero : try reader.readAge(at: writers[place].latest))
    }
    if parts.contains(.floor) {
      let ordinal = try reader.readIndex(through: Int(UInt32.max))
      floor = (ordinal, try reader.readTime(from: base))
    }
    return true
  }

  private mutating func set(
    _ content: borrowing SlotContent, over old: borrowing ValueRef, _ location: EntryLocation, heapBytes: Int,
    _ summary: Summary, _ stamping: Stamping, _ sites: inout SiteTable
  ) -> EncodedDocument? {
    var latest = max(life.reading, floor.reading)
    for place in 1..<(count + 1) { latest = max(latest, writers[place].latest) }
    let reading = max(stamping.reading, latest.next)
    var summary = summary
    let siteHash = StateHash.site(stamping.site)
    // Another store's mark in a record that was taken over is not this store's.
    if own > 0, sites[writers[own].ordinal] != stamping.site { own = 0 }
    if own > 0 {
      summary.subtract(StateHash.included(writers[own].birth, writers[own].latest, siteHash))
    } else {
      guard count < Self.limit, let place = place(of: stamping.site, sites) else { return nil }
      insertion = place
    }
    let birth = own > 0 ? writers[own].birth : reading
    summary.add(StateHash.included(birth, reading, siteHash))
    let end = view.metadataOffset
    let metadataBytes = view.metadata.byteCount
    guard end >= RecordLayout.headerBytes, end + metadataBytes == view.bytes.byteCount else { return nil }
    let ordinal = own > 0 ? writers[own].ordinal : sites.intern(stamping.site)
    let mine = Writer(ordinal: ordinal, birth: birth, latest: reading)
    let oldHash = old.stateHash
    // Each writer's reading and each mark's age may take three bytes more.
    let room = end + heapBytes + metadataBytes * 4 + count * 36 + 96
    var dead = view.deadBytes
    let record = RecordSink.record(capacity: room) { sink in
      sink.append(view.bytes.extracting(0..<end))
      sink.put(content, over: old, at: location.slotOffset, &dead)
      guard dead <= Int(UInt16.max) else { return false }
      sink.store(
        RecordLayout.aliveFlag | RecordLayout.metadataFlag | RecordLayout.ownFlag,
        at: RecordLayout.flagsOffset)
      sink.store(UInt16(dead), at: RecordLayout.deadOffset)
      sink.store(UInt32(truncatingIfNeeded: sink.count), at: RecordLayout.metadataOffset)
      writeHead(mine, to: &sink)
      guard let former = writeMarks(mine, at: location.entry, to: &sink) else { return false }
      guard let formerSite = sites[writers[former.place].ordinal] else { return false }
      let formerHash = StateHash.stamp(
        former.reading, formerSite == stamping.site ? siteHash : StateHash.site(formerSite))
      summary.subtract(location.path.combined(with: formerHash).combined(with: oldHash))
      sink.seal()
      return true
    }
    guard let record else { return nil }
    let path = location.path.combined(with: StateHash.stamp(reading, siteHash))
    summary.add(path.combined(with: content.hash))
    guard dead > RecordLayout.deadLimit(end) else {
      return EncodedDocument(record: record, summary: summary, isAlive: true)
    }
    guard let compact = try? RecordCompactor.compact(record) else { return nil }
    return EncodedDocument(record: compact, summary: summary, isAlive: true)
  }

  /// Where a new writer of a site, younger than all, comes to stand; `nil` when a site is not known.
  private func place(of site: SiteID, _ sites: SiteTable) -> Int? {
    var place = 1
    while place <= count {
      guard let other = sites[writers[place].ordinal] else { return nil }
      if other > site { break }
      place += 1
    }
    return place
  }

  /// Where the writer at a former place stands now.
  private func moved(_ former: Int) -> Int { former >= insertion ? former + 1 : former }

  private func writeHead(_ mine: Writer, to sink: inout RecordSink) {
    let baseReading = view.baseReading
    sink.append(parts.union(.marks).rawValue)
    sink.append(varint: own > 0 ? count : count + 1)
    func add(_ writer: Writer) {
      sink.append(varint: UInt64(writer.ordinal))
      sink.append(time: writer.latest, from: baseReading)
      sink.append(ageOf: writer.birth, at: writer.latest)
    }
    for place in 1..<(count + 1) {
      if place == insertion { add(mine) }
      add(place == own ? mine : writers[place])
    }
    if own == 0, insertion > count { add(mine) }
    sink.append(varint: moved(base))
    sink.append(varint: own > 0 ? own : insertion)
    if parts.contains(.life) {
      sink.append(varint: moved(life.place))
      if life.place > 0 { write(ageOf: life.reading, of: life.place, mine, to: &sink) }
    }
    if parts.contains(.floor) {
      sink.append(varint: floor.ordinal)
      sink.append(time: floor.reading, from: baseReading)
    }
  }

  private func write(ageOf reading: ClockReading, of former: Int, _ mine: Writer, to sink: inout RecordSink) {
    sink.append(ageOf: reading, at: former == own ? mine.latest : writers[former].latest)
  }

  /// Writes the marks with a new one at `entry`.
  ///
  /// - Returns: The stamp that stood at `entry`, by its writer's former place; `nil` for what is not handled here.
  private mutating func writeMarks(
    _ mine: Writer, at entry: Int, to sink: inout RecordSink
  ) -> (place: Int, reading: ClockReading)? {
    let mark = (place: own > 0 ? own : insertion, stride: own > 0 ? count + 2 : count + 3)
    var former = (place: base, reading: view.baseReading)
    var previous = -1
    var isWritten = false
    func writeMine() {
      sink.append(varint: (entry - previous - 1) * mark.stride + mark.place)
      sink.append(ageOf: mine.latest, at: mine.latest)
      previous = entry
      isWritten = true
    }
    let countOffset = sink.count
    sink.append(0)
    var written: UInt8 = 1
    do throws(CodecError) {
      let total = parts.contains(.marks) ? try reader.readCount() : 0
      // One byte holds the count.
      guard total < 127 else { return nil }
      var at = -1
      for _ in 0..<total {
        let (gap, place) = try reader.readVarint().quotientAndRemainder(dividingBy: UInt64(count + 2))
        guard gap <= UInt64(Limits.recordBytes), place > 0, place <= UInt64(count) else { return nil }
        at += Int(gap) + 1
        let reading = try reader.readAge(at: writers[Int(place)].latest)
        if at == entry {
          former = (Int(place), reading)
          continue
        }
        if at > entry, !isWritten { writeMine() }
        sink.append(varint: (at - previous - 1) * mark.stride + moved(Int(place)))
        write(ageOf: reading, of: Int(place), mine, to: &sink)
        previous = at
        written += 1
      }
    } catch {
      return nil
    }
    guard reader.isAtEnd else { return nil }
    if !isWritten { writeMine() }
    sink.store(written, at: countOffset)
    return former
  }
}

extension RecordSink {
  /// Puts a value in the place of another: in the slot, over the old bytes, or at the end of the heap.
  mutating func put(
    _ content: borrowing SlotContent, over old: borrowing ValueRef, at slot: Int, _ dead: inout Int
  ) {
    let (offset, length) = old.heapRange
    let tag = UInt64(content.tag.rawValue)
    switch content.place {
    case .slot:
      dead += length
      store(content.word, at: slot)
    case .word:
      if length == 8, old.isWord {
        store(content.word, at: offset)
        store(tag | UInt64(offset) << 8, at: slot)
      } else {
        dead += length
        store(tag | UInt64(count) << 8, at: slot)
        append(fixed: content.word)
      }
    case .bytes:
      let count = content.bytes.byteCount
      guard count < RecordLayout.longLength, old.slot >> 40 < RecordLayout.longLength else { return fail() }
      var place = offset
      if count <= length, !old.isWord {
        store(content.bytes, at: offset)
        dead += length - count
      } else {
        // What stood last in the heap gives way; anything else stays there as dead bytes.
        if length > 0, offset + length == self.count { truncate(to: offset) } else { dead += length }
        place = self.count
        append(content.bytes)
      }
      store(tag | UInt64(place) << 8 | UInt64(count) << 40, at: slot)
    }
  }
}
