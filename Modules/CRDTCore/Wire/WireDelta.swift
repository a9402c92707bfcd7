/// Writes the part of a record that a peer lacks, directly from the record's bytes.
///
/// It handles a few entries of a living document.
struct WireDelta: ~Escapable {
  /// The most writers of a document, and sites of a delta, that are handled without the tree.
  static let limit = 16
  /// The most sites in a delta's head: those of all writers, of the peer's vector, and of the floor.
  private static let siteLimit = 2 * limit + 1

  private struct Counter {
    var entry: Int
    var base: Int64
    /// The offset of its contributions in the metadata.
    var offset: Int
  }

  let view: RecordView
  let writers: PatchWriters
  private let keys: KeyTable
  /// The peer's latest reading of each of the record's writers, by place.
  private let seen: ScratchArray<ClockReading>
  private var marks: [PatchMark] = []
  /// Counters with contributions that the peer lacks.
  private var counters: [Counter] = []
  /// The numbers of the entries to send, ascending.
  private var entries: [Int] = []
  private var budget: EntryBudget
  /// The only write that may be sent, for an operation delta.
  let only: (writer: Writer, reading: ClockReading)?

  /// Appends the part of a record that `base`, which is not empty, lacks.
  ///
  /// - Returns: `false`, with nothing appended, for what the tree must write.
  static func append(
    _ record: borrowing RecordView, lacking base: VersionVector, tables: RecordTables,
    to out: inout ByteWriter
  ) -> Bool {
    guard record.isAlive, base.elements.count <= limit else { return false }
    let length = out.count
    let isWritten = PatchWriters.with(record, adding: 0, own: .zero, tables.sites) { writers, reader in
      with(record, writers, base, tables.keys, &reader) { (delta) throws(CodecError) in
        try delta.writeHead(base, to: &out)
        try delta.writeChildren(of: record.root, first: 0, depth: 0, to: &out)
      }
    }
    if isWritten == true { return true }
    out.bytes.removeLast(out.count - length)
    return false
  }

  /// Finds what the peer lacks, and calls `body` to write it.
  ///
  /// - Returns: `false` if that is more than marked entries and counters with contributions, or if `body`
  ///   throws.
  @inline(__always)
  static func with(
    _ view: borrowing RecordView, _ writers: PatchWriters, _ base: VersionVector, _ keys: KeyTable,
    _ reader: inout ByteReader, only succession: Succession? = nil,
    _ body: (inout WireDelta) throws(CodecError) -> Void
  ) -> Bool {
    guard writers.count <= limit else { return false }
    return ScratchArray.with(limit + 1, of: limit + 1, repeating: .zero) { seen in
      do throws(CodecError) {
        guard var delta = try WireDelta(view, writers, base, keys, &reader, only: succession, seen) else {
          return false
        }
        try body(&delta)
        return true
      } catch {
        return false
      }
    }
  }

  @_lifetime(copy view)
  private init?(
    _ view: borrowing RecordView, _ writers: PatchWriters, _ base: VersionVector, _ keys: KeyTable,
    _ reader: inout ByteReader, only succession: Succession?, _ seen: ScratchArray<ClockReading>
  ) throws(CodecError) {
    self.seen = seen
    only = succession.map { ($0.writer, $0.reading) }
    self.view = RecordView(view.bytes)
    self.writers = writers
    self.keys = keys
    budget = EntryBudget(view.bytes, walks: 8)
    for place in 1..<(writers.count + 1) {
      seen[place] = base[Writer(site: writers[place].site, birth: writers[place].birth)]
    }
    // Most of the document's entries have the base stamp, so this type makes deltas only for peers that have
    // them.
    guard writers.base > 0, isSeen(place: writers.base, writers.baseReading) else { return nil }
    if writers.parts.contains(.marks) { guard try readMarks(&reader) else { return nil } }
    if writers.parts.contains(.counters) { guard try readCounters(&reader) else { return nil } }
    if writers.parts.contains(.hidden) { guard try skipHidden(&reader) else { return nil } }
    if writers.parts.contains(.floors) { guard try skipFloors(&reader) else { return nil } }
    guard reader.isAtEnd else { return nil }
  }

  private func isSeen(place: Int, _ reading: ClockReading) -> Bool {
    place > 0 && place <= writers.count && seen[place] >= reading
  }

  private mutating func readMarks(_ reader: inout ByteReader) throws(CodecError) -> Bool {
    let count = try reader.readCount()
    marks.reserveCapacity(count)
    var entry = -1
    for _ in 0..<count {
      let word = try reader.readVarint()
      let (gap, place) = word.quotientAndRemainder(dividingBy: UInt64(writers.noRegister + 1))
      guard gap <= UInt64(Limits.recordBytes), place != UInt64(writers.noRegister) else { return false }
      entry += Int(gap) + 1
      let mark = try writers.readAge(of: Int(place), entry: entry, &reader)
      marks.append(mark)
      // Default data, which no vector covers, is the same on both sides of an operation delta.
      if only != nil, mark.place == 0 { continue }
      if !isSeen(place: mark.place, mark.reading) { entries.append(entry) }
    }
    return true
  }

  private mutating func readCounters(_ reader: inout ByteReader) throws(CodecError) -> Bool {
    var entry = -1
    for _ in 0..<(try reader.readCount(minimumBytes: 3)) {
      entry += try reader.readIndex(through: Limits.recordBytes) + 1
      let base = try reader.readSignedVarint()
      let offset = reader.offset
      var hasNews = false
      for _ in 0..<(try reader.readCount(minimumBytes: 3)) {
        let mark = try writers.readMark(&reader)
        _ = try reader.readVarint()
        guard mark.place > 0, mark.place <= writers.count else { return false }
        if !isSeen(place: mark.place, mark.reading) { hasNews = true }
      }
      let index = entries.firstIndex { $0 >= entry } ?? entries.count
      let isMarked = index < entries.count && entries[index] == entry
      if hasNews, !isMarked { entries.insert(entry, at: index) }
      if hasNews || isMarked { counters.append(Counter(entry: entry, base: base, offset: offset)) }
    }
    return true
  }

  /// Skips removals that the peer has seen.
  private func skipHidden(_ reader: inout ByteReader) throws(CodecError) -> Bool {
    for _ in 0..<(try reader.readCount(minimumBytes: 3)) {
      try skipPath(&reader)
      let mark = try writers.readMark(&reader)
      guard isSeen(place: mark.place, mark.reading) else { return false }
      switch try reader.readByte() {
      case 0, 1, 4: continue
      case 2: try ValueCodec.skip(&reader)
      default: return false
      }
    }
    return true
  }

  /// Skips floors that the peer has seen, and records of default data that was met, which stay in this store.
  private func skipFloors(_ reader: inout ByteReader) throws(CodecError) -> Bool {
    for _ in 0..<(try reader.readCount(minimumBytes: 3)) {
      try skipPath(&reader)
      let mark = try writers.readMark(&reader)
      guard mark.place == 0 || isSeen(place: mark.place, mark.reading) else { return false }
    }
    return true
  }

  private func skipPath(_ reader: inout ByteReader) throws(CodecError) {
    for _ in 0..<(try reader.readCount()) where try reader.readVarint() == 0 { _ = try reader.readBlob() }
  }

  // MARK: - Writing

  private func writeHead(_ base: VersionVector, to out: inout ByteWriter) throws(CodecError) {
    let hasFloor = writers.floor > .zero
    out.write(WireWriter.aliveFlag | WireWriter.baseFlag | (hasFloor ? WireWriter.floorFlag : 0))
    out.writeFixed(writers.life.reading.rawValue)
    try ScratchArray.with(Self.siteLimit, of: Self.siteLimit, repeating: .zero) {
      (sites) throws(CodecError) in
      try writeHead(base, sites, hasFloor: hasFloor, to: &out)
    }
  }

  @inline(__always)
  private func writeHead(
    _ base: VersionVector, _ sites: ScratchArray<SiteID>, hasFloor: Bool, to out: inout ByteWriter
  ) throws(CodecError) {
    var count = 0
    func add(_ site: SiteID) {
      var index = count
      while index > 0, sites[index - 1] > site { index -= 1 }
      guard index == 0 || sites[index - 1] != site else { return }
      var last = count
      while last > index {
        sites[last] = sites[last - 1]
        last -= 1
      }
      sites[index] = site
      count += 1
    }
    for place in 1..<(writers.count + 1) { add(writers[place].site) }
    for element in base.elements { add(element.writer.site) }
    if hasFloor { add(writers.floor.site) }
    out.writeVarint(count)
    for index in 0..<count { out.write(sites[index]) }
    func writePlace(of site: SiteID, to out: inout ByteWriter) {
      for index in 0..<count where sites[index] == site { return out.writeVarint(index) }
    }
    out.writeVarint(writers.count)
    for place in 1..<(writers.count + 1) {
      let writer = writers[place]
      writePlace(of: writer.site, to: &out)
      write(writer.birth, to: &out)
      out.writeDistance(writer.latest, from: writer.birth)
    }
    out.writeVarint(base.elements.count)
    for element in base.elements {
      writePlace(of: element.writer.site, to: &out)
      write(element.writer.birth, to: &out)
      out.writeDistance(element.reading, from: element.writer.birth)
    }
    out.writeVarint(writers.life.place)
    guard hasFloor else { return }
    writePlace(of: writers.floor.site, to: &out)
    write(writers.floor.reading, to: &out)
  }

  private func write(_ reading: ClockReading, to out: inout ByteWriter) {
    out.writeDistance(reading, from: writers.life.reading)
  }

  /// Writes the children of a map that contain something to send; `first` is the first child's entry.
  ///
  /// - Returns: The entry after the last child.
  @discardableResult
  mutating func writeChildren(
    of map: borrowing MapNode, first: Int, depth: Int, to out: inout ByteWriter
  ) throws(CodecError) -> Int {
    guard depth <= Limits.depth else { throw CodecError(.limit, "a map is nested too deep", at: map.offset) }
    try budget.spend(on: map)
    var entry = first
    var count = 0
    for index in 0..<map.count {
      let next = entry + 1 + (try size(below: map.slotOffset(index), depth: depth))
      if entries.contains(where: { $0 >= entry && $0 < next }) { count += 1 }
      entry = next
    }
    out.writeVarint(count)
    entry = first
    for index in 0..<map.count {
      let next = entry + 1 + (try size(below: map.slotOffset(index), depth: depth))
      if entries.contains(where: { $0 >= entry && $0 < next }) {
        try writeKey(index, of: map, to: &out)
        try writeNode(
          ValueRef(map.record, slotAt: map.slotOffset(index)), entry: entry, depth: depth, to: &out)
      }
      entry = next
    }
    return entry
  }

  /// Returns how many entries are below a slot; only a map has any.
  private mutating func size(below slotOffset: Int, depth: Int) throws(CodecError) -> Int {
    let value = ValueRef(view.bytes, slotAt: slotOffset)
    guard value.kind == .map else { return 0 }
    guard depth < Limits.depth else { throw CodecError(.limit, "a map is nested too deep", at: slotOffset) }
    let map = value.node
    var count = map.count
    // Each level is walked twice, together with the levels below it; the budget allows a few levels.
    try budget.spend(on: map)
    for index in 0..<map.count { count += try size(below: map.slotOffset(index), depth: depth + 1) }
    return count
  }

  private func writeKey(_ index: Int, of map: borrowing MapNode, to out: inout ByteWriter) throws(CodecError)
  {
    if map.carriesKeys { return out.writeBlob(map.inlineKey(index)) }
    let isKnown: Void? = keys.withName(map.keyID(index)) { out.writeBlob($0) }
    guard isKnown != nil else {
      throw CodecError(.unknownName, "a key id is not in the collection's table", at: map.offset)
    }
  }

  private mutating func writeNode(
    _ value: borrowing ValueRef, entry: Int, depth: Int, to out: inout ByteWriter
  ) throws(CodecError) {
    let mark = mark(of: entry)
    let isSent = entries.contains(entry)
    guard isSent else {
      out.write(WireWriter.emptyKind | WireWriter.childrenFlag)
      try writeChildren(of: value.node, first: entry + 1, depth: depth + 1, to: &out)
      return
    }
    if only != nil { return try writeOnly(value, mark, depth: depth, to: &out) }
    let hasOwnStamp = mark.place != writers.life.place || mark.reading != writers.life.reading
    out.write(value.wireKind | (hasOwnStamp ? WireWriter.stampFlag : 0))
    if hasOwnStamp {
      out.writeVarint(mark.place)
      // Default data has no writer, and so no clock reading.
      if mark.place > 0 { write(mark.reading, to: &out) }
    }
    switch value.kind {
    case .map: try writeChildren(of: value.node, first: entry + 1, depth: depth + 1, to: &out)
    case .counter: try writeCounter(value, entry: entry, to: &out)
    default: value.writeContent(to: &out)
    }
  }

  private func mark(of entry: Int) -> PatchMark {
    for mark in marks where mark.entry == entry { return mark }
    return PatchMark(entry: entry, place: writers.base, reading: writers.baseReading)
  }

  private func writeCounter(
    _ value: borrowing ValueRef, entry: Int, to out: inout ByteWriter
  ) throws(CodecError) {
    let (base, news) = try news(of: value, entry: entry)
    out.writeSignedVarint(base)
    out.writeVarint(news.count)
    for (mark, amount) in news {
      out.writeVarint(mark.place)
      write(mark.reading, to: &out)
      out.writeSignedVarint(amount)
    }
  }

  /// Returns a counter's start value, and the contributions to it that the peer lacks.
  func news(
    of value: borrowing ValueRef, entry: Int
  ) throws(CodecError) -> (base: Int64, contributions: [(PatchMark, Int64)]) {
    guard let counter = counters.first(where: { $0.entry == entry }) else { return (value.int, []) }
    var reader = ByteReader(view.metadata, offset: counter.offset)
    var news: [(PatchMark, Int64)] = []
    for _ in 0..<(try reader.readCount(minimumBytes: 3)) {
      let mark = try writers.readMark(&reader)
      let amount = try reader.readSignedVarint()
      if !isSeen(place: mark.place, mark.reading) { news.append((mark, amount)) }
    }
    return (counter.base, news)
  }
}

extension ValueRef {
  /// The kind of an entry with this value on the wire.
  var wireKind: UInt8 {
    switch kind {
    case .null: ValueCodec.Tag.null.rawValue
    case .bool: bool ? ValueCodec.Tag.yes.rawValue : ValueCodec.Tag.no.rawValue
    case .int: ValueCodec.Tag.int.rawValue
    case .double: ValueCodec.Tag.double.rawValue
    case .string: ValueCodec.Tag.string.rawValue
    case .bytes: ValueCodec.Tag.bytes.rawValue
    case .array: ValueCodec.Tag.array.rawValue
    case .attachment: ValueCodec.Tag.attachment.rawValue
    case .counter: WireWriter.counterKind
    case .map: WireWriter.mapKind
    }
  }

  /// Writes what follows the kind of a value that is neither a map nor a counter.
  func writeContent(to out: inout ByteWriter) {
    switch kind {
    case .null, .bool, .map, .counter: return
    case .int: out.writeSignedVarint(int)
    case .double: out.writeFixed(ValueCodec.canonicalBits(double))
    case .string, .bytes: out.writeBlob(bytes)
    case .array, .attachment:
      // In a record, the tag precedes the content.
      guard bytes.byteCount > 0 else { return }
      out.write(bytes.extracting(1..<bytes.byteCount))
    }
  }
}
