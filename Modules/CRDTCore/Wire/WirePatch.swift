/// Merges a wire document into a record in one pass.
///
/// It handles deltas that change existing scalars and counters. It reads as strictly as ``WireReader``.
/// Anything that it does not know, or that is malformed, is left to the tree, which reports the error.
struct WirePatch: ~Escapable {
  /// The most sites and writers of a delta that is merged in place.
  private static let limit = 8

  struct Element {
    /// The writer's place in the record.
    var place = 0
    var birth = ClockReading.zero
    var reading = ClockReading.zero
    var site = SiteID.zero
  }

  var reader: ByteReader
  let flags: UInt8
  /// The clock reading of the stamp of entries without their own: the life's, or that of an operation delta.
  var life: ClockReading
  private let sites: ScratchArray<SiteID>
  private var siteCount = 0
  let elements: ScratchArray<Element>
  var elementCount = 0
  private var floor = Stamp.zero
  /// The life's writer, by its place in the delta, from 1.
  var lifeWriter = 0
  var hasChanged = false

  /// - Returns: `tooMuch` for what the tree must merge or refuse.
  static func merge(
    _ wire: RawSpan, into stored: StoredDocument, own site: SiteID, _ tables: inout RecordTables
  ) -> RecordPatch.Outcome {
    ScratchArray.with(limit, of: limit, repeating: .zero) { sites in
      ScratchArray.with(limit, of: limit, repeating: Element()) { elements in
        do throws(CodecError) {
          return try merge(wire, into: stored, own: site, &tables, sites, elements)
        } catch {
          return .tooMuch
        }
      }
    }
  }

  @inline(__always)
  private static func merge(
    _ wire: RawSpan, into stored: StoredDocument, own site: SiteID, _ tables: inout RecordTables,
    _ sites: ScratchArray<SiteID>, _ elements: ScratchArray<Element>
  ) throws(CodecError) -> RecordPatch.Outcome {
    let view = RecordView(stored.record)
    if OperationDeltaHead.announces(wire) {
      var patch = WirePatch(operationDelta: wire, sites, elements)
      return try patch.mergeOperationDelta(into: view, stored.summary, own: site, &tables)
    }
    var patch = try WirePatch(wire, sites, elements)
    if patch.flags == WireWriter.aliveFlag | WireWriter.uniformFlag {
      return try patch.isUniformKnown(to: view, tables.sites) ? .unchanged : .tooMuch
    }
    let known = WireWriter.aliveFlag | WireWriter.baseFlag
    guard patch.flags & ~WireWriter.floorFlag == known, view.isAlive else { return .tooMuch }
    return try patch.merge(into: view, stored.summary, own: site, &tables)
  }

  @_lifetime(copy wire)
  private init(_ wire: RawSpan, _ sites: ScratchArray<SiteID>, _ elements: ScratchArray<Element>)
    throws(CodecError)
  {
    self.sites = sites
    self.elements = elements
    reader = ByteReader(wire)
    flags = try reader.readByte()
    life = try reader.accept(ClockReading(rawValue: try reader.readFixed()))
  }

  @_lifetime(copy wire)
  private init(operationDelta wire: RawSpan, _ sites: ScratchArray<SiteID>, _ elements: ScratchArray<Element>)
  {
    self.sites = sites
    self.elements = elements
    reader = ByteReader(wire)
    flags = WireWriter.operationDeltaFlag
    life = .zero
  }

  /// Whether a record's vector and life cover a fresh document, so that its entries need not be read.
  private mutating func isUniformKnown(
    to view: borrowing RecordView, _ sites: SiteTable
  ) throws(CodecError) -> Bool {
    let site = try reader.readSite()
    guard life > .zero, site != .zero else { return false }
    let life = life
    guard view.isAlive else { return false }
    let isKnown = PatchWriters.with(view, adding: 0, own: site, sites) { writers, _ in
      let (place, found) = writers.find(site, life)
      let standing = writers.stamp(place: writers.life.place, writers.life.reading)
      return found && writers[place].latest >= life && standing >= Stamp(reading: life, site: site)
        ? true : Bool?.none
    }
    return isKnown ?? false
  }

  private mutating func merge(
    into view: borrowing RecordView, _ summary: Summary, own site: SiteID, _ tables: inout RecordTables
  ) throws(CodecError) -> RecordPatch.Outcome {
    try readSites()
    try readVector()
    var summary = summary
    var outcome = RecordPatch.Outcome.tooMuch
    let wireBytes = reader.bytes.byteCount
    let keys = tables.keys
    let formerSites = tables.sites
    var delta = self
    let document = PatchWriters.with(view, adding: elementCount, own: site, tables.sites) { writers, reader in
      guard let isMerged = try? delta.mergeHead(into: &writers, &tables.sites, &summary), isMerged else {
        return EncodedDocument?.none
      }
      return RecordPatch.with(view, writers, &reader, summary, heapBytes: wireBytes) { patch in
        guard (try? delta.mergeEntries(into: &patch, keys)) ?? false else { return false }
        if !delta.hasChanged { outcome = .unchanged }
        return delta.hasChanged
      }
    }
    if let document { outcome = .patched(document) } else { tables.sites = formerSites }
    return outcome
  }

  // MARK: - The head

  private mutating func readSites() throws(CodecError) {
    siteCount = try reader.readCount(minimumBytes: 16)
    guard siteCount <= Self.limit else { throw tooMuch }
    for index in 0..<siteCount {
      sites[index] = try reader.readSite()
      guard sites[index] > (index == 0 ? .zero : sites[index - 1]) else { throw tooMuch }
    }
  }

  private mutating func readVector() throws(CodecError) {
    elementCount = try reader.readCount(minimumBytes: 3)
    guard elementCount <= Self.limit else { throw tooMuch }
    for index in 0..<elementCount {
      let element = try readElement()
      guard index == 0 || precedes(elements[index - 1], element) else { throw tooMuch }
      elements[index] = element
    }
  }

  private func precedes(_ a: Element, _ b: Element) -> Bool {
    a.site != b.site ? a.site < b.site : a.birth < b.birth
  }

  private mutating func readElement() throws(CodecError) -> Element {
    let index = try reader.readIndex(through: Self.limit)
    guard index < siteCount else { throw tooMuch }
    var element = Element()
    element.site = sites[index]
    element.birth = try readReading(from: life)
    element.reading = try readReading(from: element.birth)
    guard element.birth > .zero, element.reading >= element.birth else { throw tooMuch }
    return element
  }

  private mutating func readReading(from base: ClockReading) throws(CodecError) -> ClockReading {
    try reader.accept(try reader.readDistance(from: base))
  }

  private var tooMuch: CodecError { reader.failure(.malformed, "a delta is for the tree") }

  /// Joins vector and life into the record's.
  ///
  /// It returns `false` if the record lacks the delta's base, or if the floor would rise.
  private mutating func mergeHead(
    into writers: inout PatchWriters, _ sites: inout SiteTable, _ summary: inout Summary
  ) throws(CodecError) -> Bool {
    var used: UInt8 = 0
    for index in 0..<elementCount { used |= siteBit(elements[index].site) }
    var previous: Element?
    let baseCount = try reader.readCount(minimumBytes: 3)
    guard baseCount > 0, baseCount <= Self.limit else { return false }
    for _ in 0..<baseCount {
      let element = try readElement()
      if let previous, !precedes(previous, element) { return false }
      previous = element
      used |= siteBit(element.site)
      let (place, found) = writers.find(element.site, element.birth)
      guard found, writers[place].latest >= element.reading else { return false }
    }
    lifeWriter = try reader.readIndex(through: elementCount)
    guard lifeWriter > 0 ? isIncluded(lifeWriter, life) : life == .zero else { return false }
    if flags & WireWriter.floorFlag != 0 {
      let index = try reader.readIndex(through: Self.limit)
      guard index < siteCount else { return false }
      used |= siteBit(self.sites[index])
      floor = Stamp(reading: try readReading(from: life), site: self.sites[index])
      guard floor.reading > .zero, floor <= writers.floor else { return false }
    }
    guard Int(used) + 1 == 1 << siteCount else { return false }
    for index in 0..<elementCount {
      let element = elements[index]
      let (place, found) = writers.find(element.site, element.birth)
      if !found || writers[place].latest < element.reading { hasChanged = true }
      _ = writers.advance(element.site, born: element.birth, to: element.reading, &sites, &summary)
    }
    // The places of the writers are final only now.
    for index in 0..<elementCount {
      elements[index].place = writers.find(elements[index].site, elements[index].birth).place
    }
    let (place, stamp) = lifeWriter == 0 ? (0, Stamp.zero) : stamp(of: lifeWriter, life)
    let standing = writers.stamp(place: writers.life.place, writers.life.reading)
    // For equal stamps the later birth wins, as in the tree; the writers of a site are in that order.
    if stamp > standing || stamp == standing && place > writers.life.place {
      writers.live(place, life, isAlive: true, &summary)
      hasChanged = true
    }
    return true
  }

  private func siteBit(_ site: SiteID) -> UInt8 {
    for index in 0..<siteCount where sites[index] == site { return 1 << UInt8(index) }
    return 0
  }

  private func isIncluded(_ writer: Int, _ reading: ClockReading) -> Bool {
    let element = elements[writer - 1]
    return reading >= element.birth && reading <= element.reading
  }

  private func stamp(of writer: Int, _ reading: ClockReading) -> (place: Int, Stamp) {
    let element = elements[writer - 1]
    return (element.place, Stamp(reading: reading, site: element.site))
  }

  // MARK: - Entries

  mutating func mergeEntries(into patch: inout RecordPatch, _ keys: KeyTable) throws(CodecError)
    -> Bool
  {
    let view = RecordView(patch.view.bytes)
    guard try mergeChildren(of: EntryWalk(view), into: &patch, keys, depth: 0) else { return false }
    return reader.isAtEnd
  }

  private mutating func mergeChildren(
    of walk: EntryWalk, into patch: inout RecordPatch, _ keys: KeyTable, depth: Int
  ) throws(CodecError) -> Bool {
    guard depth <= Limits.depth else { return false }
    var previous = RawSpan()
    let count = try reader.readCount(minimumBytes: 2)
    guard depth == 0 || count > 0 else { return false }
    for index in 0..<count {
      let key = try reader.readBlob()
      guard index == 0 || previous.compare(key) < 0, depth > 0 || !key.isIDKey else { return false }
      previous = key
      var child = walk
      guard child.step(to: key, keys), try mergeNode(child, into: &patch, keys, depth: depth + 1) else {
        return false
      }
    }
    return true
  }

  private mutating func mergeNode(
    _ walk: EntryWalk, into patch: inout RecordPatch, _ keys: KeyTable, depth: Int
  ) throws(CodecError) -> Bool {
    let start = reader.offset
    let tag = try reader.readByte()
    let kind = tag & WireWriter.kindMask
    if kind == WireWriter.emptyKind {
      guard tag & ~WireWriter.kindMask == WireWriter.childrenFlag else { return false }
      var below = walk
      guard below.descend() else { return false }
      return try mergeChildren(of: below, into: &patch, keys, depth: depth)
    }
    guard tag & (WireWriter.floorTagFlag | WireWriter.childrenFlag) == 0 else { return false }
    if isOperationDelta {
      guard tag == kind else { return false }
      if kind == OperationDeltaReader.incrementKind { return try mergeIncrement(walk, into: &patch) }
    }
    guard let mark = try readMark(hasOwn: tag & WireWriter.stampFlag != 0, walk.location.entry) else {
      return false
    }
    guard mark.place > 0 else {
      guard kind == WireWriter.counterKind, !isOperationDelta, patch.writers.floor == .zero else {
        return false
      }
      return try mergeFirstCounter(walk, into: &patch)
    }
    let isCovered = isCovered(mark, by: patch)
    if kind == WireWriter.counterKind {
      return try mergeCounter(walk, mark, isCovered: isCovered, into: &patch)
    }
    guard walk.value.kind != .map, let tag = ValueCodec.Tag(rawValue: kind) else { return false }
    return try merge(tag, start: start, walk, mark, isCovered: isCovered, into: &patch, depth: depth)
  }

  /// Reads an entry's stamp with its writer's place in the record; `nil` if the stamp is not valid.
  private mutating func readMark(hasOwn: Bool, _ entry: Int) throws(CodecError) -> PatchMark? {
    guard hasOwn else {
      guard lifeWriter > 0 else { return nil }
      let (place, stamp) = stamp(of: lifeWriter, life)
      return stamp > floor ? PatchMark(entry: entry, place: place, reading: life) : nil
    }
    let writer = try reader.readIndex(through: elementCount)
    guard writer > 0 else {
      return floor == .zero && life > .zero ? PatchMark(entry: entry, place: 0, reading: .zero) : nil
    }
    let reading = try readReading(from: life)
    let (place, stamp) = stamp(of: writer, reading)
    guard isIncluded(writer, reading), stamp > floor, writer != lifeWriter || reading != life else {
      return nil
    }
    return PatchMark(entry: entry, place: place, reading: reading)
  }

  private func isCovered(_ mark: PatchMark, by patch: borrowing RecordPatch) -> Bool {
    patch.writers[mark.place].before >= mark.reading
  }

  private mutating func merge(
    _ tag: ValueCodec.Tag, start: Int, _ walk: EntryWalk, _ mark: PatchMark, isCovered: Bool,
    into patch: inout RecordPatch, depth: Int
  ) throws(CodecError) -> Bool {
    let location = walk.location
    switch tag {
    case .null: return put(SlotContent(null: ()), location, mark, isCovered, into: &patch)
    case .no, .yes: return put(SlotContent(bool: tag == .yes), location, mark, isCovered, into: &patch)
    case .int:
      let value = try reader.readSignedVarint()
      return put(SlotContent(int: value), location, mark, isCovered, into: &patch)
    case .double:
      let bits: UInt64 = try reader.readFixed()
      let value = Double(bitPattern: bits)
      guard ValueCodec.canonicalBits(value) == bits else { return false }
      return put(SlotContent(double: value), location, mark, isCovered, into: &patch)
    case .string:
      let utf8 = try reader.readBlob()
      guard utf8.isPlainText else { return false }
      return put(SlotContent(string: utf8), location, mark, isCovered, into: &patch)
    case .bytes:
      let bytes = try reader.readBlob()
      let content = SlotContent(.bytes, bytes: bytes, hash: StateHash.bytes(bytes, .bytes))
      return put(content, location, mark, isCovered, into: &patch)
    case .array, .attachment:
      let from = reader.offset
      _ = try ValueCodec.readContent(tag, &reader, depth: depth)
      // In a record the tag precedes the content, as at the start of an entry without its own stamp.
      guard from == start + 1 else {
        var writer = ByteWriter(capacity: reader.offset - from + 1)
        writer.write(tag.rawValue)
        writer.write(reader.bytes.extracting(from..<reader.offset))
        return put(canonical: writer.bytes.span.bytes, tag, location, mark, isCovered, into: &patch)
      }
      let bytes = reader.bytes.extracting(start..<reader.offset)
      return put(canonical: bytes, tag, location, mark, isCovered, into: &patch)
    case .map, .counter: return false
    }
  }

  private mutating func put(
    canonical bytes: RawSpan, _ tag: ValueCodec.Tag, _ location: EntryLocation, _ mark: PatchMark,
    _ isCovered: Bool, into patch: inout RecordPatch
  ) -> Bool {
    let tag: RecordLayout.Tag = tag == .array ? .array : .attachment
    let content = SlotContent(tag, bytes: bytes, hash: StateHash.bytes(bytes, .array))
    return put(content, location, mark, isCovered, into: &patch)
  }

  /// Lets a register compete with the one at its path; skips a register that was seen before.
  private mutating func put(
    _ content: borrowing SlotContent, _ location: EntryLocation, _ mark: PatchMark, _ isCovered: Bool,
    into patch: inout RecordPatch
  ) -> Bool {
    guard !isCovered else { return true }
    let standing = patch.mark(of: location.entry)
    guard standing.place > 0 else { return false }
    let mine = patch.writers.stamp(place: standing.place, standing.reading)
    let theirs = patch.writers.stamp(place: mark.place, mark.reading)
    guard theirs != mine else { return false }
    return theirs < mine || patch.set(location, to: content, at: mark)
  }

  private mutating func mergeCounter(
    _ walk: EntryWalk, _ mark: PatchMark, isCovered: Bool, into patch: inout RecordPatch
  ) throws(CodecError) -> Bool {
    let base = try reader.readSignedVarint()
    // An operation delta that begins a counter and increments it is left to the tree.
    let count = try reader.readCount(minimumBytes: isOperationDelta ? 1 : 3)
    guard count == 0 || !isOperationDelta else { return false }
    let location = walk.location
    let kind = walk.value.kind
    guard kind != .map else { return false }
    if count == 0 {
      let hash = StateHash.bits(UInt64(bitPattern: base), .counter)
      return put(SlotContent(counter: base, hash: hash), location, mark, isCovered, into: &patch)
    }
    let standing = patch.mark(of: location.entry)
    guard isCovered, standing.place > 0 else { return false }
    let isSame = standing.place == mark.place && standing.reading == mark.reading
    guard isSame == (standing.reading == mark.reading) else { return false }
    return try mergeContributions(count, walk, isSame: isSame, into: &patch)
  }

  /// Joins a counter in the epoch of first increments, which is in every delta, with the existing one.
  private mutating func mergeFirstCounter(
    _ walk: EntryWalk, into patch: inout RecordPatch
  ) throws(CodecError) -> Bool {
    let base = try reader.readSignedVarint()
    let count = try reader.readCount(minimumBytes: 3)
    // Other default data, or default data at a written entry, is left to the tree.
    guard walk.value.kind == .counter, patch.mark(of: walk.location.entry).place == 0,
      patch.counter(of: walk.location, walk.value)?.base == base
    else { return false }
    return try mergeContributions(count, walk, isSame: true, into: &patch)
  }

  private mutating func mergeContributions(
    _ count: Int, _ walk: EntryWalk, isSame: Bool, into patch: inout RecordPatch
  ) throws(CodecError) -> Bool {
    let kind = walk.value.kind
    var previous = 0
    var news: RecordPatch.Contribution?
    for _ in 0..<count {
      let writer = try reader.readIndex(through: elementCount)
      let reading = try readReading(from: life)
      guard writer > previous, isIncluded(writer, reading) else { return false }
      previous = writer
      let amount = try reader.readSignedVarint()
      let place = elements[writer - 1].place
      guard !self.isCovered(PatchMark(entry: 0, place: place, reading: reading), by: patch) else { continue }
      guard news == nil else { return false }
      news = .init(place: place, reading: reading, amount: amount, isAdded: false)
    }
    guard isSame, kind == .counter || kind == .int, let news else { return true }
    return patch.contribute(news, to: walk.location)
  }
}
