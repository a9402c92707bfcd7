/// A record's version vector and the rest of the head before its marks, as a patch edits them.
///
/// It uses no arrays and no dictionaries. Writers keep their former place, because the parts that are not
/// edited refer to it.
struct PatchWriters {
  struct Writer {
    var site: SiteID
    var ordinal: UInt32
    var birth: ClockReading
    var latest: ClockReading
    /// The latest reading before the patch, which the record's ages refer to.
    ///
    /// Below it is the writer's former place; 0 for a new writer.
    var before: ClockReading
    var formerPlace: Int

    func precedes(_ other: (site: SiteID, birth: ClockReading)) -> Bool {
      site != other.site ? site < other.site : birth < other.birth
    }
  }

  private var room: UnsafeMutableBufferPointer<Writer>
  private(set) var count = 0
  private var formerCount = 0
  private var hasGrown = false

  let baseReading: ClockReading
  /// The former place of the base's writer; 0 for default data.
  private(set) var formerBase = 0
  /// The present place of the store's own writer; 0 for none.
  private(set) var own = 0
  private(set) var life = PatchMark(entry: 0, place: 0, reading: .zero)
  private(set) var floor = Stamp.zero
  private(set) var floorSite: UInt32 = 0
  private(set) var parts: RecordMetadata.Parts = []

  subscript(place: Int) -> Writer {
    // SAFETY: places come from `place(of:)` and `advance`, which return none beyond the count.
    get { unsafe room[place - 1] }
    set { unsafe room[place - 1] = newValue }
  }

  private init(_ room: UnsafeMutableBufferPointer<Writer>, _ view: borrowing RecordView) {
    unsafe self.room = room
    baseReading = view.baseReading
  }

  /// Reads the head before the marks, and calls `body` with it and with a reader at the marks.
  ///
  /// - Parameters:
  ///   - view: The record.
  ///   - added: How many writers may be added.
  ///   - site: The store's site: the writer of another site is not the store's own.
  ///   - sites: The table that the record's ordinals refer to.
  ///   - body: It may return `nil`, too.
  /// - Returns: `nil` for metadata that cannot be read.
  static func with<R>(
    _ view: borrowing RecordView, adding added: Int, own site: SiteID, _ sites: SiteTable,
    _ body: (inout PatchWriters, inout ByteReader) -> R?
  ) -> R? {
    var reader = ByteReader(view.metadata)
    var parts: RecordMetadata.Parts = []
    var count = 1
    let isFresh = view.isFresh
    if !isFresh {
      guard let byte = try? reader.readByte(), let writers = try? reader.readCount(minimumBytes: 3) else {
        return nil
      }
      parts = RecordMetadata.Parts(rawValue: byte)
      guard parts.isSubset(of: .patchable) else { return nil }
      count = writers
      // If there may be one writer too many, the tree must check it.
      guard count + added <= Limits.sitesPerDocument else { return nil }
    } else if reader.remaining > 0 {
      return nil
    }
    return unsafe withUnsafeTemporaryAllocation(of: Writer.self, capacity: count + added) { room in
      var writers = unsafe PatchWriters(room, view)
      writers.parts = parts
      let isRead =
        isFresh
        ? writers.readFresh(view, own: site, sites)
        : (try? writers.read(&reader, count: count, own: site, sites)) ?? false
      guard isRead, let result = body(&writers, &reader) else { return nil }
      // If superseded writers may have to be dropped, the tree must check it.
      return writers.hasGrown && writers.count > SupersededWriters.limit ? nil : result
    }
  }

  private mutating func readFresh(_ view: borrowing RecordView, own site: SiteID, _ sites: SiteTable) -> Bool
  {
    guard let baseSite = sites[view.baseSite] else { return false }
    guard baseReading > .zero else { return true }
    append(
      Writer(
        site: baseSite, ordinal: view.baseSite, birth: baseReading, latest: baseReading, before: baseReading,
        formerPlace: 1))
    formerBase = 1
    own = view.isOwn && baseSite == site ? 1 : 0
    life = PatchMark(entry: 0, place: 1, reading: baseReading)
    return true
  }

  private mutating func read(
    _ reader: inout ByteReader, count: Int, own site: SiteID, _ sites: SiteTable
  ) throws(CodecError) -> Bool {
    for place in 1..<(count + 1) {
      let ordinal = try reader.readIndex(through: Int(UInt32.max))
      guard let site = sites[UInt32(ordinal)] else { return false }
      let latest = try reader.readTime(from: baseReading)
      let birth = try reader.readAge(at: latest)
      if place > 1, !self[place - 1].precedes((site, birth)) { return false }
      append(
        Writer(
          site: site, ordinal: UInt32(ordinal), birth: birth, latest: latest, before: latest,
          formerPlace: place))
    }
    formerBase = try reader.readIndex(through: count)
    own = try reader.readIndex(through: count)
    if own > 0, self[own].site != site { own = 0 }
    // A deletion that is known only from a compacted tombstone is left to the tree.
    guard !parts.contains(.bareLife) else { return false }
    life =
      parts.contains(.life)
      ? try readMark(&reader)
      : PatchMark(entry: 0, place: formerBase, reading: formerBase == 0 ? .zero : baseReading)
    guard life.place <= count else { return false }
    if parts.contains(.floor) {
      floorSite = UInt32(try reader.readIndex(through: Int(UInt32.max)))
      guard let site = sites[floorSite] else { return false }
      floor = Stamp(reading: try reader.readTime(from: baseReading), site: site)
    }
    return true
  }

  private mutating func append(_ writer: Writer) {
    // SAFETY: the memory holds all writers that were counted.
    unsafe room.initializeElement(at: count, to: writer)
    count += 1
    formerCount = count
  }

  /// The greatest clock reading that the document has seen.
  var latest: ClockReading {
    var latest = max(life.reading, floor.reading)
    for place in 1..<(count + 1) { latest = max(latest, self[place].latest) }
    return latest
  }

  /// The place that marks an entry without a register.
  var noRegister: Int { count + 1 }

  /// Returns the present place of the writer that had a former place.
  func place(of former: Int) -> Int {
    guard hasGrown, former > 0 else { return former }
    guard former <= formerCount else { return noRegister }
    for place in 1..<(count + 1) where self[place].formerPlace == former { return place }
    return 0
  }

  var base: Int { place(of: formerBase) }

  /// Returns the stamp of a mark; for place 0, the stamp of default data.
  func stamp(place: Int, _ reading: ClockReading) -> Stamp {
    place == 0 ? .zero : Stamp(reading: reading, site: self[place].site)
  }

  func find(_ site: SiteID, _ birth: ClockReading) -> (place: Int, found: Bool) {
    var place = 1
    while place <= count, self[place].precedes((site, birth)) { place += 1 }
    return (place, place <= count && self[place].site == site && self[place].birth == birth)
  }

  /// Includes a writer's clock reading in the version vector, and updates the summary.
  ///
  /// - Returns: The writer's place.
  mutating func advance(
    _ site: SiteID, born birth: ClockReading, to reading: ClockReading, _ sites: inout SiteTable,
    _ summary: inout Summary
  ) -> Int {
    let (place, found) = find(site, birth)
    let siteHash = StateHash.site(site)
    if found {
      guard reading > self[place].latest else { return place }
      if isNewest(place) { summary.subtract(StateHash.included(birth, self[place].latest, siteHash)) }
      self[place].latest = reading
    } else {
      insert(
        Writer(
          site: site, ordinal: sites.intern(site), birth: birth, latest: reading, before: .zero,
          formerPlace: 0), at: place)
      if isNewest(place), place > 1, self[place - 1].site == site {
        summary.subtract(StateHash.included(self[place - 1].birth, self[place - 1].latest, siteHash))
      }
    }
    if isNewest(place) { summary.add(StateHash.included(birth, reading, siteHash)) }
    return place
  }

  /// Whether the writer at a place is its site's newest; only that one counts in a summary.
  private func isNewest(_ place: Int) -> Bool { place == count || self[place + 1].site != self[place].site }

  /// Returns the writer at a place, from 1, among the newest writers of all sites.
  func newest(at place: Int) -> Writer? {
    var left = place
    for place in 1..<(count + 1) where isNewest(place) {
      left -= 1
      if left == 0 { return self[place] }
    }
    return nil
  }

  private mutating func insert(_ writer: Writer, at place: Int) {
    guard count < room.count else { return }
    var index = count
    while index >= place {
      // SAFETY: the index is below the capacity, which was just checked.
      unsafe room.initializeElement(at: index, to: room[index - 1])
      index -= 1
    }
    unsafe room.initializeElement(at: place - 1, to: writer)
    hasGrown = true
    if own >= place { own += 1 }
    if life.place >= place { life.place += 1 }
    count += 1
  }

  mutating func setOwn(_ place: Int) { own = place }

  /// Replaces the life, and updates the summary.
  mutating func live(_ place: Int, _ reading: ClockReading, isAlive wasAlive: Bool, _ summary: inout Summary)
  {
    summary.subtract(StateHash.life(stamp(place: life.place, life.reading), isAlive: wasAlive))
    life = PatchMark(entry: 0, place: place, reading: reading)
    summary.add(StateHash.life(stamp(place: place, reading), isAlive: true))
  }
}

/// An entry's stamp by reference to its writer.
///
/// The place is the writer's, 0 for default data, and one past all writers if there is no register.
struct PatchMark {
  var entry: Int
  var place: Int
  var reading: ClockReading
}

extension PatchWriters {
  /// Reads a mark, and returns it with its writer's present place.
  func readMark(_ reader: inout ByteReader) throws(CodecError) -> PatchMark {
    try readAge(of: try reader.readIndex(through: formerCount + 1), entry: 0, &reader)
  }

  /// Reads a mark whose former place was read before.
  func readAge(of former: Int, entry: Int, _ reader: inout ByteReader) throws(CodecError) -> PatchMark {
    let place = place(of: former)
    guard former > 0, former <= formerCount else {
      return PatchMark(entry: entry, place: place, reading: .zero)
    }
    let reading = try reader.readAge(at: self[place].before)
    return PatchMark(entry: entry, place: place, reading: reading)
  }

  var formerNoRegister: Int { formerCount + 1 }

  func write(age mark: PatchMark, to sink: inout RecordSink) {
    guard mark.place > 0, mark.place != noRegister else { return }
    sink.append(ageOf: mark.reading, at: self[mark.place].latest)
  }

  /// Writes the head before the marks.
  func write(parts: RecordMetadata.Parts, to sink: inout RecordSink) {
    var parts = parts
    let base = base
    let isBase = life.place == base && (base == 0 || life.reading == baseReading)
    if isBase { parts.remove(.life) } else { parts.insert(.life) }
    sink.append(parts.rawValue)
    sink.append(varint: count)
    for place in 1..<(count + 1) {
      let writer = self[place]
      sink.append(varint: UInt64(writer.ordinal))
      sink.append(time: writer.latest, from: baseReading)
      sink.append(ageOf: writer.birth, at: writer.latest)
    }
    sink.append(varint: base)
    sink.append(varint: own)
    if parts.contains(.life) {
      sink.append(varint: life.place)
      write(age: life, to: &sink)
    }
    if parts.contains(.floor) {
      sink.append(varint: UInt64(floorSite))
      sink.append(time: floor.reading, from: baseReading)
    }
  }
}
