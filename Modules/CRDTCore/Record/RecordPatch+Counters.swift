extension RecordPatch {
  /// A counter as it is in the record.
  struct StandingCounter {
    var base: Int64
    /// Whether it is in the metadata, because it was incremented, and its offset there.
    var isListed: Bool
    var offset: Int
  }

  func counter(of location: EntryLocation, _ value: borrowing ValueRef) -> StandingCounter? {
    guard writers.parts.contains(.counters), value.kind == .counter else {
      return StandingCounter(base: value.int, isListed: false, offset: 0)
    }
    var reader = ByteReader(lists)
    do throws(CodecError) {
      var entry = -1
      for _ in 0..<(try reader.readCount(minimumBytes: 3)) {
        entry += try reader.readIndex(through: Limits.recordBytes) + 1
        let base = try reader.readSignedVarint()
        if entry == location.entry {
          return StandingCounter(base: base, isListed: true, offset: reader.offset)
        }
        try skipContributions(&reader)
      }
    } catch {
      return nil
    }
    return StandingCounter(base: value.int, isListed: false, offset: 0)
  }

  func skipContributions(_ reader: inout ByteReader) throws(CodecError) {
    for _ in 0..<(try reader.readCount(minimumBytes: 3)) {
      _ = try writers.readMark(&reader)
      _ = try reader.readVarint()
    }
  }

  /// - Returns: `false` when the contributions cannot be read.
  func forEachContribution(
    of counter: StandingCounter, _ body: (_ place: Int, _ reading: ClockReading, _ amount: Int64) -> Void
  ) -> Bool {
    guard counter.isListed else { return true }
    var reader = ByteReader(lists, offset: counter.offset)
    do throws(CodecError) {
      for _ in 0..<(try reader.readCount(minimumBytes: 3)) {
        let mark = try writers.readMark(&reader)
        guard mark.place > 0, mark.place <= writers.count else { return false }
        body(mark.place, mark.reading, try reader.readSignedVarint())
      }
    } catch {
      return false
    }
    return true
  }

  mutating func subtractContributions(of counter: StandingCounter, at location: EntryLocation) -> Bool {
    var sum = summary
    let isRead = forEachContribution(of: counter) { place, reading, amount in
      let writer = Writer(site: writers[place].site, birth: writers[place].birth)
      let contribution = CounterState.Contribution(writer: writer, reading: reading, amount: amount)
      sum.subtract(location.path.combined(with: StateHash.contribution(contribution)))
    }
    summary = sum
    return isRead
  }
}

/// The changes of a patch in the list of counters, by entry.
struct PatchCounters {
  struct Change {
    var entry = 0
    /// Whether the record lists the counter already.
    var isListed = false
    var isDropped = false
    /// The place of the writer whose contribution is new or changed; below is that contribution.
    var place: Int32 = 0
    var base: Int64 = 0
    var reading = ClockReading.zero
    var amount: Int64 = 0
  }

  private let changes: ScratchArray<Change>
  private(set) var count = 0
  /// The number of counters by which the list grows.
  private(set) var difference = 0

  init(_ changes: ScratchArray<Change>) { self.changes = changes }

  subscript(index: Int) -> Change { changes[index] }

  mutating func drop(_ entry: Int) { add(Change(entry: entry, isListed: true, isDropped: true)) }

  /// Adds a change; no entry changes twice, and there are at most as many changes as the patch has.
  mutating func add(_ change: Change) {
    var index = count
    while index > 0, changes[index - 1].entry > change.entry {
      changes[index] = changes[index - 1]
      index -= 1
    }
    changes[index] = change
    count += 1
    if change.isDropped { difference -= 1 } else if !change.isListed { difference += 1 }
  }
}
