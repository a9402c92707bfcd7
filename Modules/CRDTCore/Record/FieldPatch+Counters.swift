extension FieldPatch {
  /// An increment of a counter, and its result.
  struct Addition {
    let entry: Int
    let amount: Int64
    /// The counter's start value; if the record does not list the counter, this is its whole value.
    var base: Int64
    /// The writer's earlier contribution, if there is one.
    var former: (reading: ClockReading, amount: Int64)?

    init(entry: Int, amount: Int64, base: Int64) {
      self.entry = entry
      self.amount = amount
      self.base = base
    }

    var total: Int64 { (former?.amount ?? 0) &+ amount }

    /// Updates the summary with the change of the writer's contribution.
    func account(for writer: Writer, _ reading: ClockReading, _ path: HashLanes, _ summary: inout Summary) {
      if let former {
        let contribution = CounterState.Contribution(
          writer: writer, reading: former.reading, amount: former.amount)
        summary.subtract(path.combined(with: StateHash.contribution(contribution)))
      }
      let contribution = CounterState.Contribution(writer: writer, reading: reading, amount: total)
      summary.add(path.combined(with: StateHash.contribution(contribution)))
    }
  }

  /// Writes the counters, with the addition to one of them; `false` if this type cannot handle the record.
  mutating func writeCounters(_ mine: Element, _ addition: inout Addition?, to sink: inout RecordSink) -> Bool
  {
    guard parts.contains(.counters) || addition != nil else { return true }
    do throws(CodecError) {
      let total = parts.contains(.counters) ? try reader.readCount(minimumBytes: 3) : 0
      // The count must fit one byte.
      guard total < 127 else { return false }
      let countOffset = sink.count
      sink.append(0)
      var written = 0
      var previous = -1
      func begin(_ entry: Int, _ base: Int64) {
        sink.append(varint: entry - previous - 1)
        sink.append(zigzag: base)
        previous = entry
        written += 1
      }
      var nothing: Addition?
      var isPending = addition != nil
      var at = -1
      for _ in 0..<total {
        at += try reader.readIndex(through: Limits.recordBytes) + 1
        if isPending, let new = addition, new.entry < at {
          begin(new.entry, new.base)
          writeOnly(new, mine, to: &sink)
          isPending = false
        }
        let base = try reader.readSignedVarint()
        begin(at, base)
        if isPending, addition?.entry == at {
          addition?.base = base
          guard try writeContributions(mine, &addition, to: &sink) else { return false }
          isPending = false
        } else {
          guard try writeContributions(mine, &nothing, to: &sink) else { return false }
        }
      }
      if isPending, let new = addition {
        begin(new.entry, new.base)
        writeOnly(new, mine, to: &sink)
      }
      sink.store(UInt8(written), at: countOffset)
      return true
    } catch {
      return false
    }
  }

  /// Writes the first contribution to a counter.
  private func writeOnly(_ addition: Addition, _ mine: Element, to sink: inout RecordSink) {
    sink.append(1)
    write(addition, mine, to: &sink)
  }

  private func write(_ addition: Addition, _ mine: Element, to sink: inout RecordSink) {
    sink.append(varint: ownPlace)
    sink.append(ageOf: mine.latest, at: mine.latest)
    sink.append(zigzag: addition.total)
  }

  /// Copies the contributions to a counter, with the addition.
  private mutating func writeContributions(
    _ mine: Element, _ addition: inout Addition?, to sink: inout RecordSink
  ) throws(CodecError) -> Bool {
    let total = try reader.readCount(minimumBytes: 3)
    guard total < 127 else { return false }
    let countOffset = sink.count
    sink.append(0)
    var written = total
    var isPending = addition != nil
    for _ in 0..<total {
      let place = try reader.readIndex(through: count)
      guard place > 0 else { return false }
      let reading = try reader.readAge(at: writers[place].latest)
      let amount = try reader.readSignedVarint()
      if isPending, let new = addition, moved(place) >= ownPlace {
        isPending = false
        if place == own {
          guard !new.amount.addingReportingOverflow(amount).overflow else { return false }
          addition?.former = (reading, amount)
          if let sum = addition { write(sum, mine, to: &sink) }
          continue
        }
        write(new, mine, to: &sink)
        written += 1
      }
      sink.append(varint: moved(place))
      write(ageOf: reading, of: place, mine, to: &sink)
      sink.append(zigzag: amount)
    }
    if isPending, let new = addition {
      write(new, mine, to: &sink)
      written += 1
    }
    sink.store(UInt8(written), at: countOffset)
    return true
  }
}
