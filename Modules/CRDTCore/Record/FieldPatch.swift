/// Sets one scalar in a living document's record, or adds to one counter, in one pass over the bytes.
///
/// These are the most frequent changes. The result is the same as that of ``RecordPatch``, which handles all
/// other cases: several changes, and records that have removals or floors of entries. This type allocates
/// nothing except the new record.
struct FieldPatch: ~Escapable {
  /// The most writers of a document that this type handles.
  private static let limit = 8

  /// A writer of the version vector.
  struct Element {
    var ordinal: UInt32 = 0
    var birth = ClockReading.zero
    var latest = ClockReading.zero
  }

  private let view: RecordView
  var reader: ByteReader
  private(set) var parts: RecordMetadata.Parts = []
  /// The writers as they are in the record, by place from 1.
  private(set) var writers: ScratchArray<Element>
  private(set) var count = 0
  private var base = 0
  private(set) var own = 0
  private var life = (place: 0, reading: ClockReading.zero)
  private var floor = (ordinal: 0, reading: ClockReading.zero)
  /// The place of a new writer; beyond all others if there is none.
  private var insertion = Int.max

  /// Applies the first of `edits`, if it sets a scalar or adds to a counter.
  ///
  /// - Returns: `nil` if ``RecordPatch`` or the tree must apply it.
  @inline(__always)
  static func applyFirst(
    of edits: [Edit], _ stored: StoredDocument, _ stamping: Stamping, _ tables: inout RecordTables,
    in room: inout [UInt8]
  ) -> EncodedDocument? {
    let edits = edits.spanOfValues
    // The edit is used in place: a copy would take as long as the search for its field.
    switch edits[0] {
    case .set(let path, .string(var text)), .replace(let path, .string(var text)):
      let path = keys(of: path, in: edits)
      return text.withUTF8 { utf8 in
        let content = unsafe SlotContent(string: RawSpan(_unsafeElements: utf8))
        return set(path, to: content, heapBytes: utf8.count, stored, stamping, &tables, &room)
      }
    case .set(let path, let value), .replace(let path, let value):
      let path = keys(of: path, in: edits)
      let content: SlotContent
      switch value {
      case .int(let value): content = SlotContent(int: value)
      case .double(let value): content = SlotContent(double: value)
      case .bool(let value): content = SlotContent(bool: value)
      case .null: content = SlotContent(null: ())
      case .string, .bytes, .array, .map, .counter, .attachment, .decimal: return nil
      }
      return set(path, to: content, heapBytes: 8, stored, stamping, &tables, &room)
    case .increment(let path, let amount):
      return increment(keys(of: path, in: edits), by: amount, stored, stamping, &tables, &room)
    case .remove, .restart: return nil
    }
  }

  /// Returns the keys of an edit's path in place, because retaining the path would take two atomic steps.
  @_lifetime(copy edits)
  @inline(__always)
  private static func keys(of path: borrowing [TextKey], in edits: Span<Edit>) -> Span<TextKey> {
    // SAFETY: the path belongs to an edit, which lives as long as the span over all edits. A span of the path
    // itself would retain the path.
    let keys = unsafe path.withUnsafeBufferPointer { unsafe $0 }
    return unsafe _overrideLifetime(Span(_unsafeElements: keys), copying: edits)
  }

  @inline(never)
  private static func set(
    _ path: Span<TextKey>, to content: borrowing SlotContent, heapBytes: Int, _ stored: StoredDocument,
    _ stamping: Stamping, _ tables: inout RecordTables, _ room: inout [UInt8]
  ) -> EncodedDocument? {
    let view = RecordView(stored.record)
    guard view.isAlive, let location = view.locate(path, &tables.keys) else { return nil }
    let old = ValueRef(view.bytes, slotAt: location.slotOffset)
    guard old.kind != .map, old.kind != .counter else { return nil }
    if let summary = SolePatch.set(
      view, old, at: location, to: content, stored.summary, stamping, isOwn: true, tables.sites, in: &room)
    {
      return EncodedDocument(record: exchange(&room, with: []), summary: summary, isAlive: true)
    }
    return change(old, to: content, location, heapBytes: heapBytes, stored, stamping, &tables, &room)
  }

  @inline(never)
  private static func change(
    _ old: borrowing ValueRef, to content: borrowing SlotContent, _ location: EntryLocation, heapBytes: Int,
    _ stored: StoredDocument, _ stamping: Stamping, _ tables: inout RecordTables, _ room: inout [UInt8]
  ) -> EncodedDocument? {
    with(RecordView(stored.record)) { patch in
      guard patch.readWriters() else { return nil }
      return patch.change(
        old, to: content, location, nil, heapBytes: heapBytes, stored.summary, stamping, &tables.sites, &room)
    }
  }

  @inline(never)
  private static func increment(
    _ path: Span<TextKey>, by amount: Int64, _ stored: StoredDocument, _ stamping: Stamping,
    _ tables: inout RecordTables, _ room: inout [UInt8]
  ) -> EncodedDocument? {
    let view = RecordView(stored.record)
    guard view.isAlive, let location = view.locate(path, &tables.keys) else { return nil }
    let old = ValueRef(view.bytes, slotAt: location.slotOffset)
    let value = old.int
    // A sum at the limits of its type may have been clamped.
    guard old.kind == .counter || old.kind == .int, value > .min, value < .max else { return nil }
    let (sum, isCut) = value.addingReportingOverflow(amount)
    return with(view) { patch in
      guard !isCut, patch.readWriters() else { return nil }
      return patch.change(
        old, to: SlotContent(counter: sum, hash: location.path), location,
        Addition(entry: location.entry, amount: amount, base: value), heapBytes: 8, stored.summary, stamping,
        &tables.sites, &room)
    }
  }

  @inline(__always)
  private static func with(
    _ view: borrowing RecordView, _ body: (inout FieldPatch) -> EncodedDocument?
  ) -> EncodedDocument? {
    ScratchArray.with(limit + 1, of: limit + 1, repeating: Element()) { writers in
      var patch = FieldPatch(view, writers)
      return body(&patch)
    }
  }

  @_lifetime(copy view)
  private init(_ view: borrowing RecordView, _ writers: ScratchArray<Element>) {
    self.view = RecordView(view.bytes)
    self.writers = writers
    reader = ByteReader(view.metadata)
  }

  /// Reads the part before the marks; `false` if this type cannot handle it.
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
    writers[1] = Element(ordinal: view.baseSite, birth: reading, latest: reading)
    count = 1
    base = 1
    own = view.isOwn ? 1 : 0
    life = (1, reading)
    return true
  }

  private mutating func read() throws(CodecError) -> Bool {
    parts = RecordMetadata.Parts(rawValue: try reader.readByte())
    guard parts.isSubset(of: [.life, .floor, .marks, .counters]) else { return false }
    count = try reader.readIndex(through: Limits.recordBytes)
    guard count <= Self.limit else { return false }
    let base = view.baseReading
    for place in 1..<(count + 1) {
      let ordinal = UInt32(try reader.readIndex(through: Int(UInt32.max)))
      let latest = try reader.readTime(from: base)
      writers[place] = Element(ordinal: ordinal, birth: try reader.readAge(at: latest), latest: latest)
    }
    self.base = try reader.readIndex(through: count)
    own = try reader.readIndex(through: count)
    // Default data as the base is not handled here.
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

  private mutating func change(
    _ old: borrowing ValueRef, to content: borrowing SlotContent, _ location: EntryLocation,
    _ addition: Addition?, heapBytes: Int, _ summary: Summary, _ stamping: Stamping,
    _ sites: inout SiteTable, _ memory: inout [UInt8]
  ) -> EncodedDocument? {
    var latest = max(life.reading, floor.reading)
    for place in 1..<(count + 1) { latest = max(latest, writers[place].latest) }
    let reading = stamping.reading(after: latest)
    var summary = summary
    let siteHash = stamping.siteHash
    // If the record was taken over from another store or another opening, its own writer is not this one's.
    if own > 0 {
      let former = writers[own]
      if sites[former.ordinal] != stamping.site || !stamping.goesOn(from: former.birth) { own = 0 }
    }
    let birth = own > 0 ? writers[own].birth : stamping.newBirth
    // Only the newest of a site's writers counts in the summary.
    let isNewest: Bool
    if own > 0 {
      isNewest = !isOf(stamping.site, own + 1, sites)
      if isNewest { summary.subtract(StateHash.included(birth, writers[own].latest, siteHash)) }
    } else {
      guard count < Self.limit, let place = place(of: stamping.site, born: birth, sites) else { return nil }
      insertion = place
      isNewest = !isOf(stamping.site, place, sites)
      if isNewest, isOf(stamping.site, place - 1, sites) {
        let former = writers[place - 1]
        summary.subtract(StateHash.included(former.birth, former.latest, siteHash))
      }
    }
    if isNewest { summary.add(StateHash.included(birth, reading, siteHash)) }
    let end = view.metadataOffset
    let metadataBytes = view.metadata.byteCount
    guard end >= RecordLayout.headerBytes, end + metadataBytes == view.bytes.byteCount else { return nil }
    let ordinal = own > 0 ? writers[own].ordinal : sites.intern(stamping.site)
    let mine = Element(ordinal: ordinal, birth: birth, latest: reading)
    // Each writer's reading and each mark's age may take three more bytes.
    let room = end + heapBytes + metadataBytes * 4 + count * 36 + 144
    var dead = view.deadBytes
    let isWritten = RecordSink.record(capacity: room, in: &memory) { sink in
      sink.append(view.bytes.extracting(0..<end))
      sink.put(content, over: old, at: location.slotOffset, &dead)
      let flags = RecordLayout.aliveFlag | RecordLayout.metadataFlag | RecordLayout.ownFlag
      sink.storeHeader(of: view, flags: flags, dead: dead)
      writeHead(mine, adding: addition == nil ? .marks : .counters, to: &sink)
      var addition = addition
      guard let former = writeMarks(mine, at: location.entry, isNew: addition == nil, to: &sink),
        let formerSite = sites[writers[former.place].ordinal],
        writeCounters(mine, &addition, to: &sink), reader.isAtEnd
      else { return false }
      let formerHash =
        former.place == 0
        ? StateHash.stamp(.zero)
        : StateHash.stamp(former.reading, formerSite == stamping.site ? siteHash : StateHash.site(formerSite))
      let formerEntry = location.path.combined(with: formerHash)
      if let addition {
        // A number becomes a counter that starts with it, under the number's stamp.
        if old.kind == .int {
          summary.subtract(formerEntry.combined(with: old.stateHash))
          summary.add(formerEntry.combined(with: StateHash.bits(UInt64(bitPattern: old.int), .counter)))
        }
        addition.account(for: Writer(site: stamping.site, birth: birth), reading, location.path, &summary)
      } else {
        summary.subtract(formerEntry.combined(with: old.stateHash))
        let entry = location.path.combined(with: stamping.hash(at: reading))
        summary.add(entry.combined(with: content.hash))
      }
      sink.seal()
      return true
    }
    guard isWritten else { return nil }
    let record = exchange(&memory, with: [])
    guard dead > RecordLayout.deadLimit(end) else {
      return EncodedDocument(record: record, summary: summary, isAlive: true)
    }
    guard let compact = try? RecordCompactor.compact(record) else { return nil }
    return EncodedDocument(record: compact, summary: summary, isAlive: true)
  }

  /// Whether the writer at a place belongs to a site.
  @inline(__always)
  private func isOf(_ site: SiteID, _ place: Int, _ sites: SiteTable) -> Bool {
    place > 0 && place <= count && sites[writers[place].ordinal] == site
  }

  /// Returns the place for a new writer; `nil` when a site is not known.
  private func place(of site: SiteID, born birth: ClockReading, _ sites: SiteTable) -> Int? {
    var place = 1
    while place <= count {
      guard let other = sites[writers[place].ordinal] else { return nil }
      if other > site || other == site && writers[place].birth > birth { break }
      place += 1
    }
    return place
  }

  /// Returns the present place of the writer that had a former place.
  func moved(_ former: Int) -> Int { former >= insertion ? former + 1 : former }

  /// The present place of the store's own writer.
  var ownPlace: Int { own > 0 ? own : insertion }

  private func writeHead(_ mine: Element, adding part: RecordMetadata.Parts, to sink: inout RecordSink) {
    let baseReading = view.baseReading
    sink.append(parts.union(part).rawValue)
    sink.append(varint: own > 0 ? count : count + 1)
    func add(_ writer: Element) {
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
    sink.append(varint: ownPlace)
    if parts.contains(.life) {
      sink.append(varint: moved(life.place))
      if life.place > 0 { write(ageOf: life.reading, of: life.place, mine, to: &sink) }
    }
    if parts.contains(.floor) {
      sink.append(varint: floor.ordinal)
      sink.append(time: floor.reading, from: baseReading)
    }
  }

  func write(ageOf reading: ClockReading, of former: Int, _ mine: Element, to sink: inout RecordSink) {
    sink.append(ageOf: reading, at: former == own ? mine.latest : writers[former].latest)
  }

  /// Writes the marks; if `isNew`, with a new one at `entry`.
  ///
  /// - Returns: The former stamp of `entry`, by its writer's former place; `nil` if this type cannot handle
  ///   the marks.
  private mutating func writeMarks(
    _ mine: Element, at entry: Int, isNew: Bool, to sink: inout RecordSink
  ) -> (place: Int, reading: ClockReading)? {
    let mark = (place: ownPlace, stride: own > 0 ? count + 2 : count + 3)
    var former = (place: base, reading: view.baseReading)
    var previous = -1
    var isWritten = !isNew
    func writeMine() {
      sink.append(varint: (entry - previous - 1) * mark.stride + mark.place)
      sink.append(ageOf: mine.latest, at: mine.latest)
      previous = entry
      isWritten = true
    }
    guard isNew || parts.contains(.marks) else { return former }
    let countOffset = sink.count
    sink.append(0)
    var written: UInt8 = isNew ? 1 : 0
    do throws(CodecError) {
      let total = parts.contains(.marks) ? try reader.readCount() : 0
      // The count must fit one byte.
      guard total < 127 else { return nil }
      var at = -1
      for _ in 0..<total {
        let (gap, place) = try reader.readVarint().quotientAndRemainder(dividingBy: UInt64(count + 2))
        guard gap <= UInt64(Limits.recordBytes), place <= UInt64(count) else { return nil }
        at += Int(gap) + 1
        let reading = place == 0 ? .zero : try reader.readAge(at: writers[Int(place)].latest)
        if at == entry {
          // If something replaces default data, the tree must record that it was met.
          guard place > 0 || !isNew else { return nil }
          former = (Int(place), reading)
          if isNew { continue }
        }
        if at > entry, !isWritten { writeMine() }
        sink.append(varint: (at - previous - 1) * mark.stride + moved(Int(place)))
        if place > 0 { write(ageOf: reading, of: Int(place), mine, to: &sink) }
        previous = at
        written += 1
      }
    } catch {
      return nil
    }
    if !isWritten { writeMine() }
    sink.store(written, at: countOffset)
    return former
  }
}
