/// The part of a record's metadata before the marks: the version vector, and facts about the whole document.
struct RecordHead {
  let parts: RecordMetadata.Parts
  let vector: VersionVector
  let base: RecordMetadata.Mark
  let ownWriter: Int
  let life: RecordMetadata.Mark
  let bareLife: Stamp?
  let floor: Stamp

  init(_ reader: inout ByteReader, base reading: ClockReading, sites: SiteTable) throws(CodecError) {
    (parts, vector) = try Self.readVector(&reader, base: reading, sites: sites)
    let writer = try reader.readIndex(through: vector.elements.count)
    base = RecordMetadata.Mark(writer: writer, reading: writer == 0 ? .zero : reading)
    ownWriter = try reader.readIndex(through: vector.elements.count)
    if parts.contains(.bareLife) {
      guard !parts.contains(.life) else { throw reader.failure(.malformed, "a document has two lives") }
      let site = try reader.readSite(sites)
      bareLife = Stamp(reading: try reader.readTime(from: reading), site: site)
      life = RecordMetadata.Mark(writer: 0, reading: .zero)
    } else {
      bareLife = nil
      life = parts.contains(.life) ? try vector.readMark(&reader) : base
    }
    if parts.contains(.floor) {
      let site = try reader.readSite(sites)
      floor = Stamp(reading: try reader.readTime(from: reading), site: site)
    } else {
      floor = .zero
    }
  }

  /// Reads the parts and the version vector.
  static func readVector(
    _ reader: inout ByteReader, base reading: ClockReading, sites: SiteTable
  ) throws(CodecError) -> (parts: RecordMetadata.Parts, vector: VersionVector) {
    let parts = RecordMetadata.Parts(rawValue: try reader.readByte())
    guard parts.isSubset(of: .known) else {
      throw reader.failure(.unsupportedVersion, "metadata has unknown parts")
    }
    let count = try reader.readCount(minimumBytes: 3)
    var elements: [VersionVector.Element] = []
    elements.reserveCapacity(count)
    for place in 0..<count {
      let site = try reader.readSite(sites)
      let latest = try reader.readTime(from: reading)
      let writer = Writer(site: site, birth: try reader.readAge(at: latest))
      guard place == 0 || elements[place - 1].writer < writer else {
        throw reader.failure(.malformed, "writers are not in ascending order")
      }
      elements.append(.init(writer: writer, reading: latest))
    }
    return (parts, VersionVector(ascending: elements))
  }
}

extension VersionVector {
  /// The reference of an entry that shows a map without its own register.
  fileprivate var noRegister: Int { elements.count + 1 }

  fileprivate func readMark(_ reader: inout ByteReader) throws(CodecError) -> RecordMetadata.Mark {
    try readAge(of: try reader.readIndex(through: noRegister), &reader)
  }

  fileprivate func readAge(
    of writer: Int, _ reader: inout ByteReader
  ) throws(CodecError) -> RecordMetadata.Mark {
    guard writer > 0, writer != noRegister else { return RecordMetadata.Mark(writer: writer, reading: .zero) }
    return RecordMetadata.Mark(writer: writer, reading: try reader.readAge(at: elements[writer - 1].reading))
  }
}

extension RecordMetadata {
  init(_ reader: inout ByteReader, base reading: ClockReading, tables: RecordTables) throws(CodecError) {
    let head = try RecordHead(&reader, base: reading, sites: tables.sites)
    (vector, base, ownWriter) = (head.vector, head.base, head.ownWriter)
    (life, bareLife, floor) = (head.life, head.bareLife, head.floor)
    let parts = head.parts
    if parts.contains(.marks) { try readMarks(&reader) }
    let unlisted = parts.contains(.unlisted) ? reading : nil
    if parts.contains(.counters) { try readCounters(&reader, unlisted) }
    if parts.contains(.hidden) { try readHidden(&reader, tables.keys, unlisted) }
    if parts.contains(.floors) { try readFloors(&reader, tables.keys) }
    guard reader.isAtEnd else { throw reader.failure(.malformed, "metadata has bytes left over") }
  }

  private mutating func readMarks(_ reader: inout ByteReader) throws(CodecError) {
    var previous = -1
    for _ in 0..<(try reader.readCount()) {
      let (distance, writer) = try reader.readIndex(through: .max).quotientAndRemainder(
        dividingBy: noRegister + 1)
      guard distance <= Limits.recordBytes else {
        throw reader.failure(.malformed, "an entry is out of range")
      }
      previous += distance + 1
      marks.append((previous, try vector.readAge(of: writer, &reader)))
    }
  }

  private mutating func readCounters(
    _ reader: inout ByteReader, _ unlisted: ClockReading?
  ) throws(CodecError) {
    var previous = -1
    for _ in 0..<(try reader.readCount(minimumBytes: 3)) {
      previous += try reader.readIndex(through: Limits.recordBytes) + 1
      counters.append(Counter(entry: previous, state: try counter(&reader, unlisted)))
    }
  }

  private mutating func readHidden(
    _ reader: inout ByteReader, _ keys: KeyTable, _ unlisted: ClockReading?
  ) throws(CodecError) {
    for _ in 0..<(try reader.readCount(minimumBytes: 3)) {
      let path = try path(&reader, keys)
      let mark = try vector.readMark(&reader)
      let writer = writer(mark)
      let content = try content(&reader, unlisted)
      let stamp = Stamp(reading: mark.reading, site: writer.site)
      hidden.append(
        Hidden(path: path, register: Register(stamp: stamp, birth: writer.birth, content: content)))
    }
  }

  private mutating func readFloors(_ reader: inout ByteReader, _ keys: KeyTable) throws(CodecError) {
    for _ in 0..<(try reader.readCount(minimumBytes: 3)) {
      let path = try path(&reader, keys)
      let mark = try vector.readMark(&reader)
      let writer = writer(mark)
      let stamp = Stamp(reading: mark.reading, site: writer.site)
      floors.append(Floor(path: path, floor: Node.Floor(stamp: stamp, birth: writer.birth)))
    }
  }

  /// Reads a counter; `unlisted` is the base reading if the vector may not list some of its writers.
  private func counter(
    _ reader: inout ByteReader, _ unlisted: ClockReading?
  ) throws(CodecError) -> CounterState {
    var state = CounterState(base: try reader.readSignedVarint())
    for _ in 0..<(try reader.readCount(minimumBytes: 3)) {
      var mark = try vector.readMark(&reader)
      var writer = writer(mark)
      if mark.writer == 0, let unlisted {
        let place = try reader.readIndex(through: vector.elements.count)
        guard place > 0 else { throw reader.failure(.malformed, "a contribution has no site") }
        mark.reading = try reader.readTime(from: unlisted)
        let birth = try reader.readAge(at: mark.reading)
        writer = Writer(site: vector.elements[place - 1].writer.site, birth: birth)
      }
      let amount = try reader.readSignedVarint()
      state.contributions.append(.init(writer: writer, reading: mark.reading, amount: amount))
    }
    return state
  }

  private func content(
    _ reader: inout ByteReader, _ unlisted: ClockReading?
  ) throws(CodecError) -> Register.Content {
    switch try reader.readByte() {
    case 0: return .removed(overDefault: false)
    case 1: return .removed(overDefault: true)
    case 2: return .value(try ValueCodec.read(&reader))
    case 3: return .counter(try counter(&reader, unlisted))
    case 4: return .map
    default: throw reader.failure(.malformed, "a hidden register has an unknown kind")
    }
  }

  private func path(_ reader: inout ByteReader, _ keys: KeyTable) throws(CodecError) -> [TextKey] {
    let count = try reader.readCount()
    guard count > 0, count <= Limits.pathSteps else { throw reader.failure(.limit, "a path is too long") }
    var path: [TextKey] = []
    for _ in 0..<count {
      let reference = try reader.readIndex(through: KeyTable.capacity)
      if reference == 0 {
        path.append(TextKey(try reader.readString()))
      } else if let name = keys.name(of: UInt16(reference - 1)) {
        path.append(TextKey(name))
      } else {
        throw reader.failure(.unknownName, "a key id is not in the collection's table")
      }
    }
    return path
  }
}
