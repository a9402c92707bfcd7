extension ByteWriter {
  /// Writes a clock reading as its distance from another: milliseconds, then the counter unless it is zero.
  mutating func writeTime(_ reading: ClockReading, from base: ClockReading) {
    let distance = Int64(reading.milliseconds) - Int64(base.milliseconds)
    let zigzag = UInt64(bitPattern: (distance << 1) ^ (distance >> 63))
    writeVarint(zigzag << 1 | (reading.counter == 0 ? 0 : 1))
    if reading.counter != 0 { writeVarint(Int(reading.counter)) }
  }
}

extension ByteWriter {
  /// Writes how long before the writer's latest clock reading this one was, which needs no sign.
  mutating func writeAge(of reading: ClockReading, at latest: ClockReading) {
    writeVarint((latest.milliseconds &- reading.milliseconds) << 1 | (reading.counter == 0 ? 0 : 1))
    if reading.counter != 0 { writeVarint(Int(reading.counter)) }
  }
}

extension ByteReader {
  mutating func readAge(at latest: ClockReading) throws(CodecError) -> ClockReading {
    let start = offset
    let word = try readVarint()
    guard word >> 1 <= latest.milliseconds else {
      throw CodecError(.malformed, "a clock reading is out of range", at: start)
    }
    return try readCounter(hasCounter: word & 1 == 1, milliseconds: latest.milliseconds - word >> 1, start)
  }

  private mutating func readCounter(
    hasCounter: Bool, milliseconds: UInt64, _ start: Int
  ) throws(CodecError) -> ClockReading {
    guard hasCounter else { return ClockReading(milliseconds: milliseconds) }
    let counter = try readVarint()
    guard counter > 0, counter <= UInt64(UInt16.max) else {
      throw CodecError(.malformed, "a clock counter is out of range", at: start)
    }
    return ClockReading(milliseconds: milliseconds, counter: UInt16(counter))
  }

  mutating func readTime(from base: ClockReading) throws(CodecError) -> ClockReading {
    let start = offset
    let word = try readVarint()
    let zigzag = word >> 1
    let distance = Int64(bitPattern: zigzag >> 1) ^ -Int64(bitPattern: zigzag & 1)
    let (milliseconds, overflow) = Int64(base.milliseconds).addingReportingOverflow(distance)
    guard !overflow, milliseconds >= 0, milliseconds <= 0xFFFF_FFFF_FFFF else {
      throw CodecError(.malformed, "a clock reading is out of range", at: start)
    }
    return try readCounter(hasCounter: word & 1 == 1, milliseconds: UInt64(milliseconds), start)
  }

  mutating func readIndex(through limit: Int) throws(CodecError) -> Int {
    let index = try readVarint()
    guard index <= UInt64(limit) else { throw failure(.malformed, "a reference is out of range") }
    return Int(index)
  }

  mutating func readSite(_ sites: SiteTable) throws(CodecError) -> SiteID {
    let ordinal = try readVarint()
    guard ordinal <= UInt64(UInt32.max), let site = sites[UInt32(ordinal)] else {
      throw failure(.unknownName, "a site ordinal is not in the store's table")
    }
    return site
  }
}
