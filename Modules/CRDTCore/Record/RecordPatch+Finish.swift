extension RecordPatch {
  mutating func finish() -> Bool {
    var flags = RecordLayout.aliveFlag | RecordLayout.metadataFlag
    if writers.own > 0 { flags |= RecordLayout.ownFlag }
    sink.storeHeader(of: view, flags: flags, dead: dead)
    var parts = writers.parts
    if markCount > 0 { parts.insert(.marks) } else { parts.remove(.marks) }
    do throws(CodecError) {
      var reader = ByteReader(lists)
      let former = parts.contains(.counters) ? try reader.readCount(minimumBytes: 3) : 0
      let count = former + counters.difference
      guard count >= 0 else { return false }
      if count > 0 { parts.insert(.counters) } else { parts.remove(.counters) }
      writers.write(parts: parts, to: &sink)
      writeMarks()
      if count > 0 { sink.append(varint: count) }
      try writeCounters(former, &reader)
      if parts.contains(.hidden) { try writeHidden(&reader) }
      if parts.contains(.floors) { try writeFloors(&reader) }
      guard reader.isAtEnd else { return false }
    } catch {
      return false
    }
    sink.seal()
    return true
  }

  private mutating func writeMarks() {
    guard markCount > 0 else { return }
    sink.append(varint: markCount)
    var previous = -1
    for index in 0..<markCount {
      // SAFETY: the index is below the count of marks that were written.
      let mark = unsafe marks[index]
      sink.append(varint: (mark.entry - previous - 1) * (writers.noRegister + 1) + mark.place)
      previous = mark.entry
      writers.write(age: mark, to: &sink)
    }
  }

  private mutating func writeCounters(_ former: Int, _ reader: inout ByteReader) throws(CodecError) {
    var previous = -1
    func begin(_ entry: Int) {
      sink.append(varint: entry - previous - 1)
      previous = entry
    }
    var next = 0
    func writeNew(before entry: Int) {
      while next < counters.count, counters[next].entry < entry {
        let counter = counters[next]
        next += 1
        guard !counter.isListed else { continue }
        begin(counter.entry)
        sink.append(zigzag: counter.base)
        sink.append(varint: 1)
        writeContribution(counter)
      }
    }
    var entry = -1
    for _ in 0..<former {
      entry += try reader.readIndex(through: Limits.recordBytes) + 1
      writeNew(before: entry)
      var change: PatchCounters.Change?
      if next < counters.count, counters[next].entry == entry {
        change = counters[next]
        next += 1
      }
      if let change, change.isDropped {
        _ = try reader.readSignedVarint()
        try skipContributions(&reader)
      } else {
        begin(entry)
        try writeCounter(&reader, change)
      }
    }
    writeNew(before: .max)
  }

  private mutating func writeContribution(_ change: PatchCounters.Change) {
    let mark = PatchMark(entry: 0, place: Int(change.place), reading: change.reading)
    sink.append(varint: mark.place)
    writers.write(age: mark, to: &sink)
    sink.append(zigzag: change.amount)
  }

  /// Copies a counter, with one contribution replaced by that of `change`.
  private mutating func writeCounter(
    _ reader: inout ByteReader, _ change: PatchCounters.Change?
  ) throws(CodecError) {
    sink.append(zigzag: try reader.readSignedVarint())
    let count = try reader.readCount(minimumBytes: 3)
    var pending = change
    let place = Int(change?.place ?? 0)
    if change != nil {
      // The count comes first, so we must know now whether the writer contributed before.
      var ahead = ByteReader(reader.bytes, offset: reader.offset)
      var isKnown = false
      for _ in 0..<count {
        if try writers.readMark(&ahead).place == place { isKnown = true }
        _ = try ahead.readVarint()
      }
      sink.append(varint: isKnown ? count : count + 1)
    } else {
      sink.append(varint: count)
    }
    for _ in 0..<count {
      let mark = try writers.readMark(&reader)
      let amount = try reader.readSignedVarint()
      if let change = pending, mark.place >= place {
        writeContribution(change)
        pending = nil
        if mark.place == place { continue }
      }
      sink.append(varint: mark.place)
      writers.write(age: mark, to: &sink)
      sink.append(zigzag: amount)
    }
    if let change = pending { writeContribution(change) }
  }

  private mutating func writeHidden(_ reader: inout ByteReader) throws(CodecError) {
    let count = try reader.readCount(minimumBytes: 3)
    sink.append(varint: count)
    for _ in 0..<count {
      try copyPath(&reader)
      try copyMark(&reader)
      let start = reader.offset
      let kind = try reader.readByte()
      sink.append(kind)
      switch kind {
      case 0, 1, 4: continue
      case 2:
        try ValueCodec.skip(&reader)
        sink.append(reader.bytes.extracting(start + 1..<reader.offset))
      case 3: try writeCounter(&reader, nil)
      default: throw reader.failure(.malformed, "a hidden register has an unknown kind")
      }
    }
  }

  private mutating func writeFloors(_ reader: inout ByteReader) throws(CodecError) {
    let count = try reader.readCount(minimumBytes: 3)
    sink.append(varint: count)
    for _ in 0..<count {
      let start = reader.offset
      let path = try skipPath(&reader)
      sink.append(reader.bytes.extracting(start..<reader.offset))
      // The record that default data was met at a root key is valid for any content of that key.
      let isNote = try copyMark(&reader) == 0 && path.steps == 1
      guard isNote || !path.isChanged else {
        throw reader.failure(.malformed, "a change is under a floor")
      }
    }
  }

  /// - Returns: The mark's place.
  @discardableResult
  private mutating func copyMark(_ reader: inout ByteReader) throws(CodecError) -> Int {
    let mark = try writers.readMark(&reader)
    sink.append(varint: mark.place)
    writers.write(age: mark, to: &sink)
    return mark.place
  }

  /// Copies a path without changes; a path at or below a changed field is left to the tree.
  private mutating func copyPath(_ reader: inout ByteReader) throws(CodecError) {
    let start = reader.offset
    guard try !skipPath(&reader).isChanged else {
      throw reader.failure(.malformed, "a change is over what is hidden")
    }
    sink.append(reader.bytes.extracting(start..<reader.offset))
  }

  /// Skips a path; returns how many steps it has, and whether something changes under its root key.
  private func skipPath(_ reader: inout ByteReader) throws(CodecError) -> (steps: Int, isChanged: Bool) {
    let count = try reader.readCount()
    var isChanged = false
    for depth in 0..<count {
      let reference = try reader.readIndex(through: KeyTable.capacity)
      if reference == 0 { _ = try reader.readBlob() }
      guard depth == 0 else { continue }
      for index in 0..<changeCount {
        let rootKey = changes[index].rootKey
        if rootKey == ResolvedPath.missing || Int(rootKey) + 1 == reference { isChanged = true }
      }
    }
    return (count, isChanged)
  }
}
