/// The merge metadata of a record: everything about stamps that "all entries bear the base stamp"
/// does not already say.
///
/// Parts, each a varint count and its items: writers with birth and latest reading (the version
/// vector); then the base's writer, this store's own writer, life and floor; then entries with a
/// stamp of their own, counters, registers that are not seen, and floors.
struct RecordMetadata {
  /// A register's stamp by reference: 0 is default data, `none` is no register, else a writer + 1.
  struct Mark {
    var writer: Int
    var reading: ClockReading
  }

  struct Counter {
    var entry: Int
    var state: CounterState
  }

  struct Hidden {
    var path: [String]
    var register: Register
  }

  struct Floor {
    var path: [String]
    var floor: Node.Floor
  }

  var vector = VersionVector()
  var base = Mark(writer: 0, reading: .zero)
  var ownWriter = 0
  var life = Mark(writer: 0, reading: .zero)
  var floor = Stamp.zero
  /// Entry index in the order of the tree, then its stamp.
  var marks: [(entry: Int, mark: Mark)] = []
  var counters: [Counter] = []
  var hidden: [Hidden] = []
  var floors: [Floor] = []

  /// The reference of an entry that shows a map without a register of its own.
  var noRegister: Int { vector.elements.count + 1 }

  func index(of writer: Writer) -> Int {
    writer.birth == .zero ? 0 : (vector.index(of: writer) ?? -1) + 1
  }

  func mark(_ stamp: Stamp, _ birth: ClockReading) -> Mark {
    Mark(writer: index(of: Writer(site: stamp.site, birth: birth)), reading: stamp.reading)
  }

  func writer(_ mark: Mark) -> Writer {
    mark.writer > 0 && mark.writer <= vector.elements.count
      ? vector.elements[mark.writer - 1].writer : Writer(site: .zero, birth: .zero)
  }
}

// MARK: - Writing

extension RecordMetadata {
  func encode(base reading: ClockReading, tables: inout RecordTables) -> [UInt8] {
    var out = ByteWriter(capacity: 64)
    out.writeVarint(vector.elements.count)
    for element in vector.elements {
      out.writeVarint(UInt64(tables.sites.intern(element.writer.site)))
      out.writeTime(element.writer.birth, from: reading)
      out.writeTime(element.reading, from: element.writer.birth)
    }
    out.writeVarint(base.writer)
    out.writeVarint(ownWriter)
    write(life, &out, reading)
    out.writeVarint(UInt64(tables.sites.intern(floor.site)))
    if floor.site != .zero { out.writeTime(floor.reading, from: reading) }
    out.writeVarint(marks.count)
    var previous = -1
    for (entry, mark) in marks {
      out.writeVarint(entry - previous - 1)
      previous = entry
      write(mark, &out, reading)
    }
    out.writeVarint(counters.count)
    previous = -1
    for counter in counters {
      out.writeVarint(counter.entry - previous - 1)
      previous = counter.entry
      write(counter.state, &out, reading)
    }
    out.writeVarint(hidden.count)
    for item in hidden {
      write(item.path, &out, &tables)
      write(mark(item.register.stamp, item.register.birth), &out, reading)
      write(item.register.content, &out, reading)
    }
    out.writeVarint(floors.count)
    for item in floors {
      write(item.path, &out, &tables)
      write(mark(item.floor.stamp, item.floor.birth), &out, reading)
    }
    return out.bytes
  }

  private func write(_ mark: Mark, _ out: inout ByteWriter, _ base: ClockReading) {
    out.writeVarint(mark.writer)
    if mark.writer > 0, mark.writer != noRegister { out.writeTime(mark.reading, from: base) }
  }

  private func write(_ state: CounterState, _ out: inout ByteWriter, _ base: ClockReading) {
    out.writeSignedVarint(state.base)
    out.writeVarint(state.contributions.count)
    for contribution in state.contributions {
      out.writeVarint(index(of: contribution.writer))
      out.writeTime(contribution.reading, from: base)
      out.writeSignedVarint(contribution.amount)
    }
  }

  private func write(_ content: Register.Content, _ out: inout ByteWriter, _ base: ClockReading) {
    switch content {
    case .removed(let overDefault): out.write(overDefault ? 1 as UInt8 : 0)
    case .value(let value):
      out.write(2 as UInt8)
      ValueCodec.write(value, to: &out)
    case .counter(let state):
      out.write(3 as UInt8)
      write(state, &out, base)
    case .map: out.write(4 as UInt8)
    }
  }

  private func write(_ path: [String], _ out: inout ByteWriter, _ tables: inout RecordTables) {
    out.writeVarint(path.count)
    for (depth, key) in path.enumerated() {
      if let id = tables.keys.intern(key, nested: depth > 0) {
        out.writeVarint(Int(id) + 1)
      } else {
        out.writeVarint(0)
        out.writeString(key)
      }
    }
  }
}

// MARK: - Reading

extension RecordMetadata {
  /// Reads the version vector and what follows it up to the floor.
  init(head reader: inout ByteReader, base reading: ClockReading, sites: SiteTable) throws(CodecError) {
    var elements: [VersionVector.Element] = []
    for _ in 0..<(try reader.readCount(minimumBytes: 3)) {
      let site = try reader.readSite(sites)
      let birth = try reader.readTime(from: reading)
      elements.append(.init(writer: Writer(site: site, birth: birth), reading: try reader.readTime(from: birth)))
    }
    vector = VersionVector(elements)
    guard vector.elements == elements else { throw reader.failure(.malformed, "writers are not in ascending order") }
    base = Mark(writer: try reader.readIndex(through: elements.count), reading: reading)
    ownWriter = try reader.readIndex(through: elements.count)
    life = try mark(&reader, reading)
    let site = try reader.readSite(sites)
    floor = site == .zero ? .zero : Stamp(reading: try reader.readTime(from: reading), site: site)
  }

  init(_ reader: inout ByteReader, base reading: ClockReading, tables: RecordTables) throws(CodecError) {
    try self.init(head: &reader, base: reading, sites: tables.sites)
    var previous = -1
    for _ in 0..<(try reader.readCount(minimumBytes: 2)) {
      previous += try reader.readIndex(through: Limits.recordBytes) + 1
      marks.append((previous, try mark(&reader, reading)))
    }
    previous = -1
    for _ in 0..<(try reader.readCount(minimumBytes: 3)) {
      previous += try reader.readIndex(through: Limits.recordBytes) + 1
      counters.append(Counter(entry: previous, state: try counter(&reader, reading)))
    }
    for _ in 0..<(try reader.readCount(minimumBytes: 3)) {
      let path = try path(&reader, tables.keys)
      let mark = try mark(&reader, reading)
      let writer = writer(mark)
      let content = try content(&reader, reading)
      let stamp = Stamp(reading: mark.reading, site: writer.site)
      hidden.append(Hidden(path: path, register: Register(stamp: stamp, birth: writer.birth, content: content)))
    }
    for _ in 0..<(try reader.readCount(minimumBytes: 3)) {
      let path = try path(&reader, tables.keys)
      let mark = try mark(&reader, reading)
      let writer = writer(mark)
      let stamp = Stamp(reading: mark.reading, site: writer.site)
      floors.append(Floor(path: path, floor: Node.Floor(stamp: stamp, birth: writer.birth)))
    }
    guard reader.isAtEnd else { throw reader.failure(.malformed, "metadata has bytes left over") }
  }

  private func mark(_ reader: inout ByteReader, _ base: ClockReading) throws(CodecError) -> Mark {
    let writer = try reader.readIndex(through: noRegister)
    guard writer > 0, writer != noRegister else { return Mark(writer: writer, reading: .zero) }
    return Mark(writer: writer, reading: try reader.readTime(from: base))
  }

  private func counter(_ reader: inout ByteReader, _ base: ClockReading) throws(CodecError) -> CounterState {
    var state = CounterState(base: try reader.readSignedVarint())
    for _ in 0..<(try reader.readCount(minimumBytes: 3)) {
      let writer = writer(Mark(writer: try reader.readIndex(through: vector.elements.count), reading: .zero))
      let reading = try reader.readTime(from: base)
      state.contributions.append(
        .init(writer: writer, reading: reading, amount: try reader.readSignedVarint()))
    }
    return state
  }

  private func content(_ reader: inout ByteReader, _ base: ClockReading) throws(CodecError) -> Register.Content {
    switch try reader.readByte() {
    case 0: return .removed(overDefault: false)
    case 1: return .removed(overDefault: true)
    case 2: return .value(try ValueCodec.read(&reader))
    case 3: return .counter(try counter(&reader, base))
    case 4: return .map
    default: throw reader.failure(.malformed, "a hidden register has an unknown kind")
    }
  }

  private func path(_ reader: inout ByteReader, _ keys: KeyTable) throws(CodecError) -> [String] {
    let count = try reader.readCount()
    guard count > 0, count <= Limits.depth + 1 else { throw reader.failure(.limit, "a path is too long") }
    var path: [String] = []
    for _ in 0..<count {
      let reference = try reader.readIndex(through: KeyTable.capacity)
      if reference == 0 {
        path.append(try reader.readString())
      } else if let name = keys.name(of: UInt16(reference - 1)) {
        path.append(name)
      } else {
        throw reader.failure(.unknownName, "a key id is not in the collection's table")
      }
    }
    return path
  }
}

extension ByteWriter {
  /// A reading as its distance from another: milliseconds, then the counter where it is not zero.
  mutating func writeTime(_ reading: ClockReading, from base: ClockReading) {
    let distance = Int64(reading.milliseconds) - Int64(base.milliseconds)
    let zigzag = UInt64(bitPattern: (distance << 1) ^ (distance >> 63))
    writeVarint(zigzag << 1 | (reading.counter == 0 ? 0 : 1))
    if reading.counter != 0 { writeVarint(Int(reading.counter)) }
  }
}

extension ByteReader {
  mutating func readTime(from base: ClockReading) throws(CodecError) -> ClockReading {
    let start = offset
    let word = try readVarint()
    let zigzag = word >> 1
    let distance = Int64(bitPattern: zigzag >> 1) ^ -Int64(bitPattern: zigzag & 1)
    let (milliseconds, overflow) = Int64(base.milliseconds).addingReportingOverflow(distance)
    guard !overflow, milliseconds >= 0, milliseconds <= 0xFFFF_FFFF_FFFF else {
      throw CodecError(.malformed, "a clock reading is out of range", at: start)
    }
    guard word & 1 == 1 else { return ClockReading(milliseconds: UInt64(milliseconds)) }
    let counter = try readVarint()
    guard counter > 0, counter <= UInt64(UInt16.max) else {
      throw CodecError(.malformed, "a clock counter is out of range", at: start)
    }
    return ClockReading(milliseconds: UInt64(milliseconds), counter: UInt16(counter))
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
