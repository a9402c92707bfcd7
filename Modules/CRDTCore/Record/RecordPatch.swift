/// A change of a few scalar fields, made on the bytes of a living document's record.
///
/// The record is copied once. Slots are rewritten in place, longer values are appended to the heap, marks and
/// version vector are edited in place, and the summary is adjusted by the difference. For anything more
/// complex the result is `nil`, and the caller uses the decoded tree, which is the reference. Both ways lead
/// to the same state, the same summary and the same canonical bytes.
struct RecordPatch: ~Escapable {
  /// The most fields that one patch changes.
  ///
  /// It is better to encode more changes anew, under a stamp that they share.
  static let limit = 24

  let view: RecordView
  var writers: PatchWriters
  var sink: RecordSink
  var summary: Summary
  var marks: UnsafeMutableBufferPointer<PatchMark>
  var markCount = 0
  /// Counters, hidden registers and floors, as they are in the record.
  private(set) var lists: RawSpan
  var dead: Int
  var counters: PatchCounters
  /// The entries that changed, and their number.
  let changes: ScratchArray<Change>
  var changeCount = 0

  /// An entry that changed.
  struct Change {
    var entry = -1
    /// The root key that the entry is below.
    var rootKey: UInt16 = 0
  }

  /// Prepares a patch, calls `body` to make the changes, and finishes the record.
  ///
  /// - Parameters:
  ///   - view: The record of a living document.
  ///   - writers: Its version vector, which was advanced already.
  ///   - reader: A reader at the record's marks.
  ///   - summary: The document's summary, with the changes so far.
  ///   - heapBytes: The most bytes that the new values take in the heap.
  ///   - changes: The most entries that change.
  ///   - body: It returns `false` to give up.
  /// - Returns: `nil` if the tree must make the change.
  static func with(
    _ view: borrowing RecordView, _ writers: PatchWriters, _ reader: inout ByteReader, _ summary: Summary,
    heapBytes: Int, changes: Int = limit, _ body: (inout RecordPatch) -> Bool
  ) -> EncodedDocument? {
    var count = 0
    if writers.parts.contains(.marks) {
      guard let marks = try? reader.readCount() else { return nil }
      count = marks
    }
    let end = view.bytes.byteCount - view.metadata.byteCount
    guard end >= RecordLayout.headerBytes, end == view.metadataOffset else { return nil }
    let metadataBytes =
      (writers.count + 2) * 36 + (count + changes) * 24 + reader.remaining * 14 + changes * 48
    var result = summary
    return unsafe withUnsafeTemporaryAllocation(of: PatchMark.self, capacity: count + changes) { room in
      let record = RecordSink.record(capacity: end + heapBytes + metadataBytes) { sink in
        sink.append(view.bytes.extracting(0..<end))
        return ScratchArray.with(changes, of: limit, repeating: Change()) { changed in
          ScratchArray.with(changes, of: limit, repeating: PatchCounters.Change()) { counters in
            var patch = unsafe RecordPatch(
              view, writers, sink, summary, room, changed, PatchCounters(counters), reader)
            guard patch.readMarks(count), body(&patch), patch.finish() else { return false }
            sink = patch.sink
            result = patch.summary
            return true
          }
        }
      }
      guard let record else { return nil }
      let patched = RecordView(record.span.bytes)
      guard patched.deadBytes > RecordLayout.deadLimit(patched.metadataOffset) else {
        return EncodedDocument(record: record, summary: result, isAlive: true)
      }
      guard let compact = try? RecordCompactor.compact(record) else { return nil }
      return EncodedDocument(record: compact, summary: result, isAlive: true)
    }
  }

  @_lifetime(copy view, copy reader)
  private init(
    _ view: borrowing RecordView, _ writers: PatchWriters, _ sink: RecordSink, _ summary: Summary,
    _ room: UnsafeMutableBufferPointer<PatchMark>, _ changes: ScratchArray<Change>, _ counters: PatchCounters,
    _ reader: borrowing ByteReader
  ) {
    self.view = RecordView(view.bytes)
    self.writers = writers
    self.sink = sink
    self.summary = summary
    unsafe marks = room
    self.changes = changes
    self.counters = counters
    dead = view.deadBytes
    lists = reader.bytes.extracting(reader.offset..<reader.bytes.byteCount)
  }

  /// Reads the marks, with which the lists begin; `false` if the tree must make the change.
  private mutating func readMarks(_ count: Int) -> Bool {
    guard count > 0 else { return true }
    var reader = ByteReader(lists)
    var entry = -1
    for index in 0..<count {
      guard let word = try? reader.readVarint() else { return false }
      let (gap, former) = word.quotientAndRemainder(dividingBy: UInt64(writers.formerNoRegister + 1))
      guard gap <= UInt64(Limits.recordBytes) else { return false }
      entry += Int(gap) + 1
      // A map without its own register is left to the tree.
      guard former != UInt64(writers.formerNoRegister),
        let mark = try? writers.readAge(of: Int(former), entry: entry, &reader)
      else { return false }
      // SAFETY: the memory holds all marks that were counted, and those that changes add.
      unsafe marks.initializeElement(at: index, to: mark)
    }
    markCount = count
    lists = lists.extracting(reader.offset..<lists.byteCount)
    return true
  }

  // MARK: - Entries

  /// Records that an entry changes; `false` if the tree must make the change.
  mutating func begin(_ location: EntryLocation) -> Bool {
    guard changeCount < changes.count else { return false }
    for index in 0..<changeCount where changes[index].entry == location.entry { return false }
    changes[changeCount] = Change(entry: location.entry, rootKey: location.rootKey)
    changeCount += 1
    return true
  }

  /// Returns the present stamp of an entry, by reference.
  func mark(of entry: Int) -> PatchMark {
    let index = markIndex(of: entry)
    // SAFETY: the index is below the count of marks that were written.
    if index < markCount, unsafe marks[index].entry == entry { return unsafe marks[index] }
    let base = writers.base
    return PatchMark(entry: entry, place: base, reading: base == 0 ? .zero : writers.baseReading)
  }

  private func markIndex(of entry: Int) -> Int {
    var index = markCount
    // SAFETY: as above.
    while index > 0, unsafe marks[index - 1].entry >= entry { index -= 1 }
    return index
  }

  private mutating func setMark(_ mark: PatchMark) {
    let index = markIndex(of: mark.entry)
    let base = writers.base
    let isBase = mark.place == base && (base == 0 || mark.reading == writers.baseReading)
    // SAFETY: the memory holds one mark for each change.
    let isKnown = unsafe index < markCount && marks[index].entry == mark.entry
    if isBase {
      guard isKnown else { return }
      for next in index + 1..<max(markCount, index + 1) { unsafe marks[next - 1] = marks[next] }
      markCount -= 1
    } else if isKnown {
      unsafe marks[index] = mark
    } else {
      guard markCount < marks.count else { return sink.fail() }
      var last = markCount
      while last > index {
        unsafe marks.initializeElement(at: last, to: marks[last - 1])
        last -= 1
      }
      unsafe marks.initializeElement(at: index, to: mark)
      markCount += 1
    }
  }

  func stampHash(_ mark: PatchMark) -> HashLanes {
    StateHash.stamp(writers.stamp(place: mark.place, mark.reading))
  }

  // MARK: - Changes

  /// Puts a new register at an entry that shows a value or a counter.
  mutating func set(_ location: EntryLocation, to content: borrowing SlotContent, at mark: PatchMark) -> Bool
  {
    let old = ValueRef(view.bytes, slotAt: location.slotOffset)
    let formerMark = self.mark(of: location.entry)
    // If something replaces default data, the tree must record that it was met.
    guard old.kind != .map, formerMark.place > 0, begin(location) else { return false }
    let former = location.path.combined(with: stampHash(formerMark))
    if old.kind == .counter {
      guard let counter = counter(of: location, old) else { return false }
      summary.subtract(former.combined(with: StateHash.bits(UInt64(bitPattern: counter.base), .counter)))
      guard subtractContributions(of: counter, at: location) else { return false }
      if counter.isListed { counters.drop(location.entry) }
    } else {
      summary.subtract(former.combined(with: old.stateHash))
    }
    summary.add(location.path.combined(with: stampHash(mark)).combined(with: content.hash))
    setMark(mark)
    sink.put(content, over: old, at: location.slotOffset, &dead)
    return true
  }

  /// A changed contribution to a counter: its writer's place, and the change.
  struct Contribution {
    var place: Int
    var reading: ClockReading
    var amount: Int64
    /// Whether `amount` is added to the writer's earlier contribution, or replaces it.
    var isAdded: Bool
  }

  /// Changes one writer's contribution to a counter, or to an integer, which becomes a counter.
  mutating func contribute(_ change: Contribution, to location: EntryLocation) -> Bool {
    let old = ValueRef(view.bytes, slotAt: location.slotOffset)
    guard old.kind == .counter || old.kind == .int, begin(location),
      let counter = counter(of: location, old)
    else { return false }
    let writer = writers[change.place]
    let key = Writer(site: writer.site, birth: writer.birth)
    var sum = Int128(counter.base)
    var own: CounterState.Contribution?
    guard
      forEachContribution(
        of: counter,
        { place, reading, amount in
          if place == change.place {
            own = .init(writer: key, reading: reading, amount: amount)
          } else {
            sum += Int128(amount)
          }
        })
    else { return false }
    if old.kind == .int {
      let entry = location.path.combined(with: stampHash(mark(of: location.entry)))
      summary.subtract(entry.combined(with: old.stateHash))
      summary.add(entry.combined(with: StateHash.bits(UInt64(bitPattern: counter.base), .counter)))
    }
    if let own { summary.subtract(location.path.combined(with: StateHash.contribution(own))) }
    let before = change.isAdded ? Int128(own?.amount ?? 0) : 0
    let total = Int64(clamping: before + Int128(change.amount))
    let new = CounterState.Contribution(writer: key, reading: change.reading, amount: total)
    summary.add(location.path.combined(with: StateHash.contribution(new)))
    counters.add(
      .init(
        entry: location.entry, isListed: counter.isListed, place: Int32(change.place), base: counter.base,
        reading: change.reading, amount: total))
    let content = SlotContent(counter: Int64(clamping: sum + Int128(total)), hash: location.path)
    sink.put(content, over: old, at: location.slotOffset, &dead)
    return true
  }
}
