/// Reads a wire document from untrusted bytes; it refuses any form but the canonical one.
struct WireReader: ~Escapable {
  private var reader: ByteReader
  private var state: DocumentState
  private var isUniform = false
  private var stringCount = 0

  @_lifetime(copy bytes)
  private init(_ bytes: RawSpan) throws(CodecError) {
    reader = ByteReader(bytes)
    let flags = try reader.readByte()
    guard flags & ~WireWriter.knownFlags == 0 else {
      throw reader.failure(.unsupportedVersion, "a document has unknown flags")
    }
    let reading = try reader.accept(ClockReading(rawValue: try reader.readFixed()))
    let isAlive = flags & WireWriter.aliveFlag != 0
    isUniform = flags & WireWriter.uniformFlag != 0
    state = DocumentState(life: Stamp(reading: reading, site: .zero), lifeBirth: reading, isAlive: isAlive)
    if isUniform {
      guard flags == WireWriter.aliveFlag | WireWriter.uniformFlag else {
        throw reader.failure(.malformed, "a uniform document has parts of another")
      }
      try readUniformHead()
    } else {
      try readHead(flags)
    }
  }

  static func read(_ bytes: RawSpan) throws(CodecError) -> DocumentState {
    var reader = try WireReader(bytes)
    reader.state.root.children = try reader.readChildren(depth: 0, under: reader.state.floor)
    guard reader.reader.isAtEnd else {
      throw reader.reader.failure(.malformed, "a document has bytes left over")
    }
    guard reader.isUniform == reader.state.isUniform else {
      throw reader.reader.failure(.malformed, "a uniform document is not marked as one")
    }
    return reader.state
  }

  /// Reads only the part before the entries: the vectors and the life.
  static func readHead(_ bytes: RawSpan) throws(CodecError) -> DocumentState { try WireReader(bytes).state }

  /// Reads the part before the entries of a document that one write made.
  ///
  /// - Returns: The stamp of that write, the only one that the document includes; zero for default data.
  static func readUniformHead(_ reader: inout ByteReader) throws(CodecError) -> Stamp {
    let flags = try reader.readByte()
    guard flags & ~WireWriter.knownFlags == 0 else {
      throw reader.failure(.unsupportedVersion, "a document has unknown flags")
    }
    guard flags == WireWriter.aliveFlag | WireWriter.uniformFlag else {
      throw CodecError(.malformed, "a uniform document has parts of another")
    }
    let reading = try reader.accept(ClockReading(rawValue: try reader.readFixed()))
    let stamp = Stamp(reading: reading, site: try reader.readSite())
    guard (reading == .zero) == (stamp.site == .zero) else {
      throw reader.failure(.malformed, "a life has no site")
    }
    return stamp
  }

  private mutating func readUniformHead() throws(CodecError) {
    state.life.site = try reader.readSite()
    let isDefault = state.life.reading == .zero
    guard isDefault == (state.life.site == .zero) else {
      throw reader.failure(.malformed, "a life has no site")
    }
    if !isDefault {
      state.vector.advance(Writer(site: state.life.site, birth: state.lifeBirth), to: state.lifeBirth)
    }
  }

  private mutating func readHead(_ flags: UInt8) throws(CodecError) {
    let hasBase = flags & WireWriter.baseFlag != 0
    let hasFloor = flags & WireWriter.floorFlag != 0
    let isLifeBare = flags & WireWriter.bareLifeFlag != 0
    var sites: [SiteID] = []
    for _ in 0..<(try reader.readCount(minimumBytes: 16)) {
      let site = try reader.readSite()
      guard site > (sites.last ?? .zero) else {
        throw reader.failure(.malformed, "sites are not in ascending order")
      }
      sites.append(site)
    }
    state.vector = try readVector(sites)
    if hasBase { state.base = try readVector(sites) }
    guard !hasBase || !state.base.isEmpty else { throw reader.failure(.malformed, "a base is empty") }
    if isLifeBare { try readBareLife(sites) } else { try readLife() }
    if hasFloor {
      guard !sites.isEmpty else { throw reader.failure(.malformed, "a floor has no site") }
      let index = try reader.readIndex(through: sites.count - 1)
      state.floor = Stamp(reading: try readReading(from: state.life.reading), site: sites[index])
      guard state.floor.reading > .zero else { throw reader.failure(.malformed, "a floor is zero") }
    }
    // Writers are in the order of their sites, too.
    var (vector, base) = (state.vector.elements[...], state.base.elements[...])
    for site in sites {
      let isUsed =
        vector.first?.writer.site == site || base.first?.writer.site == site
        || hasFloor && state.floor.site == site || isLifeBare && state.life.site == site
      guard isUsed else { throw reader.failure(.malformed, "a site is not used") }
      vector = vector.drop { $0.writer.site == site }
      base = base.drop { $0.writer.site == site }
    }
  }

  private mutating func readLife() throws(CodecError) {
    let writer = try readWriter()
    state.life.site = writer.site
    state.lifeBirth = writer.birth
    guard (writer.birth == .zero) == (state.life.reading == .zero) else {
      throw reader.failure(.malformed, "a life has no writer")
    }
    try checkIncluded(writer, state.life.reading)
  }

  private mutating func readBareLife(_ sites: [SiteID]) throws(CodecError) {
    let index = try reader.readIndex(through: max(sites.count - 1, 0))
    guard index < sites.count, !state.isAlive, state.life.reading > .zero else {
      throw reader.failure(.malformed, "a life has no writer")
    }
    state.life.site = sites[index]
    state.lifeBirth = .zero
  }

  private mutating func readReading(from base: ClockReading) throws(CodecError) -> ClockReading {
    try reader.accept(try reader.readDistance(from: base))
  }

  private mutating func readVector(_ sites: [SiteID]) throws(CodecError) -> VersionVector {
    let count = try reader.readWriterCount(minimumBytes: 3)
    var elements: [VersionVector.Element] = []
    elements.reserveCapacity(count)
    for _ in 0..<count {
      let index = try reader.readIndex(through: max(sites.count - 1, 0))
      guard index < sites.count else { throw reader.failure(.malformed, "a writer has no site") }
      let birth = try readReading(from: state.life.reading)
      let reading = try readReading(from: birth)
      let writer = Writer(site: sites[index], birth: birth)
      guard birth > .zero, reading >= birth, elements.last.map({ $0.writer < writer }) ?? true else {
        throw reader.failure(.malformed, "a version vector is not in order")
      }
      elements.append(.init(writer: writer, reading: reading))
    }
    return VersionVector(ascending: elements)
  }

  private mutating func readWriter() throws(CodecError) -> Writer {
    let index = try reader.readIndex(through: state.vector.elements.count)
    return index == 0 ? Writer(site: .zero, birth: .zero) : state.vector.elements[index - 1].writer
  }

  private mutating func readStamp() throws(CodecError) -> (Stamp, ClockReading) {
    let writer = try readWriter()
    guard writer.birth > .zero else { return (.zero, .zero) }
    let reading = try reader.readDistance(from: state.life.reading)
    try checkIncluded(writer, reading)
    return (Stamp(reading: reading, site: writer.site), writer.birth)
  }

  /// Checks prefix closure: the vector includes every write that the document contains.
  private func checkIncluded(_ writer: Writer, _ reading: ClockReading) throws(CodecError) {
    guard writer.birth == .zero || reading >= writer.birth && state.vector[writer] >= reading else {
      throw reader.failure(.malformed, "an entry is not in the version vector")
    }
  }

  private mutating func readChildren(depth: Int, under floor: Stamp) throws(CodecError) -> [Node.Child] {
    guard depth <= Limits.depth else { throw reader.failure(.limit, "a document is nested too deep") }
    var previous: TextKey?
    var children: [Node.Child] = []
    for _ in 0..<(try reader.readKeyCount()) {
      let key = try ValueCodec.readFieldName(&reader, depth: depth, after: &previous)
      children.append(Node.Child(key: key, node: try readNode(depth: depth + 1, under: floor)))
    }
    return children
  }

  /// Reads one entry and the entries below it.
  ///
  /// `floor` is the floor from above; an entry at or below it does not exist.
  private mutating func readNode(depth: Int, under floor: Stamp) throws(CodecError) -> Node {
    let start = reader.offset
    let tag = try reader.readByte()
    let kind = tag & WireWriter.kindMask
    let hasOwnStamp = tag & WireWriter.stampFlag != 0
    var node = Node()
    var (stamp, birth) = (state.life, state.lifeBirth)
    if hasOwnStamp {
      guard kind != WireWriter.emptyKind else {
        throw CodecError(.malformed, "an empty entry has a stamp", at: start)
      }
      (stamp, birth) = try readStamp()
      guard stamp != state.life || birth != state.lifeBirth else {
        throw CodecError(.malformed, "an entry repeats the life's stamp", at: start)
      }
    }
    if let content = try readContent(kind, start, depth) {
      guard hasOwnStamp || !state.isLifeBare else {
        throw CodecError(.malformed, "an entry has no writer", at: start)
      }
      guard stamp > floor || floor == .zero, stamp > .zero || !content.isRemoved else {
        throw CodecError(.malformed, "an entry does not exist", at: start)
      }
      node.register = Register(stamp: stamp, birth: birth, content: content)
    }
    if tag & WireWriter.floorTagFlag != 0 {
      let (stamp, birth) = try readStamp()
      guard stamp > max(floor, node.effectiveFloor) else {
        throw CodecError(.malformed, "a floor is implied", at: start)
      }
      node.floor = Node.Floor(stamp: stamp, birth: birth)
    }
    let hasChildren = tag & WireWriter.childrenFlag != 0
    if kind == WireWriter.mapKind || hasChildren {
      node.children = try readChildren(depth: depth, under: max(floor, node.effectiveFloor))
      guard kind != WireWriter.mapKind || !hasChildren, !hasChildren || !node.children.isEmpty else {
        throw CodecError(.malformed, "an entry's children are marked wrongly", at: start)
      }
    }
    guard !node.isEmpty else { throw CodecError(.malformed, "an entry holds nothing", at: start) }
    return node
  }

  private mutating func readContent(
    _ kind: UInt8, _ start: Int, _ depth: Int
  ) throws(CodecError) -> Register.Content? {
    switch kind {
    case WireWriter.mapKind: return .map
    case WireWriter.removedKind: return .removed(overDefault: false)
    case WireWriter.counterKind: return .counter(try readCounter())
    case WireWriter.emptyKind: return nil
    default:
      guard let tag = ValueCodec.Tag(rawValue: kind), tag != .map, tag != .counter else {
        throw CodecError(.malformed, "an entry has an unknown kind", at: start)
      }
      return .value(try ValueCodec.readContent(tag, &reader, depth: depth))
    }
  }

  /// Reads a writer that the vector does not list: the place of its site's newest writer, and its birth.
  private mutating func readSuperseded() throws(CodecError) -> Writer {
    let place = try reader.readIndex(through: state.vector.elements.count)
    guard place > 0, state.vector.isNewest(place - 1) else {
      throw reader.failure(.malformed, "a contribution has no site")
    }
    let birth = try readReading(from: state.life.reading)
    let newest = state.vector.elements[place - 1].writer
    guard birth > .zero, birth < newest.birth else {
      throw reader.failure(.malformed, "a contribution's writer is no older than its site's newest")
    }
    let writer = Writer(site: newest.site, birth: birth)
    guard state.vector.index(of: writer) == nil else {
      throw reader.failure(.malformed, "a contribution's writer stands in the vector")
    }
    return writer
  }

  private mutating func readCounter() throws(CodecError) -> CounterState {
    var counter = CounterState(base: try reader.readSignedVarint())
    for _ in 0..<(try reader.readCount(minimumBytes: 3)) {
      var writer = try readWriter()
      let isSuperseded = writer.birth == .zero
      if isSuperseded { writer = try readSuperseded() }
      let reading = try readReading(from: state.life.reading)
      guard counter.contributions.last.map({ $0.writer < writer }) ?? true else {
        throw reader.failure(.malformed, "a counter's writers are not in order")
      }
      if isSuperseded {
        guard reading >= writer.birth else {
          throw reader.failure(.malformed, "a contribution is older than its writer")
        }
      } else {
        try checkIncluded(writer, reading)
      }
      let amount = try reader.readSignedVarint()
      counter.contributions.append(.init(writer: writer, reading: reading, amount: amount))
    }
    return counter
  }
}
