/// Writes a document's state in its canonical wire form, which `Documentation/WireFormat.md` specifies.
///
/// Equal states have equal bytes: keys, sites and writers ascend, and what a rule implies is left out.
struct WireWriter {
  static let aliveFlag: UInt8 = 1
  /// A fresh document: every entry has the life's stamp, the writer was born with it, nothing is invisible.
  static let uniformFlag: UInt8 = 2
  static let baseFlag: UInt8 = 4
  static let floorFlag: UInt8 = 8
  /// A deletion whose writer is not known: its site replaces its writer.
  static let bareLifeFlag: UInt8 = 16
  static let knownFlags: UInt8 = 31
  /// One write on top of a state that its summary identifies.
  ///
  /// ``OperationDeltaHead`` has all flags of this form.
  static let operationDeltaFlag: UInt8 = 32

  /// Entry tags: the content's kind is in the low bits.
  static let mapKind: UInt8 = 0x10
  static let removedKind: UInt8 = 0x11
  static let counterKind: UInt8 = 0x12
  /// No register here: only entries below, or a floor.
  static let emptyKind: UInt8 = 0x13
  static let kindMask: UInt8 = 0x1F
  /// Entries below follow, for a kind other than a map.
  static let childrenFlag: UInt8 = 0x20
  static let floorTagFlag: UInt8 = 0x40
  static let stampFlag: UInt8 = 0x80

  private let state: DocumentState
  private var out: ByteWriter

  static func append(_ state: DocumentState, to out: inout ByteWriter) {
    var writer = WireWriter(state: state, out: out)
    out.bytes = []
    writer.write()
    out = writer.out
  }

  private mutating func write() {
    let isUniform = state.isUniform
    var flags: UInt8 = state.isAlive ? Self.aliveFlag : 0
    if isUniform { flags |= Self.uniformFlag }
    if !state.base.isEmpty { flags |= Self.baseFlag }
    if state.floor > .zero { flags |= Self.floorFlag }
    if state.isLifeBare { flags |= Self.bareLifeFlag }
    out.write(flags)
    out.writeFixed(state.life.reading.rawValue)
    if isUniform {
      out.write(state.life.site)
    } else {
      writeHead()
    }
    write(state.root.children)
  }

  private var sites: [SiteID] {
    var sites = state.vector.elements.map(\.writer.site) + state.base.elements.map(\.writer.site)
    if state.floor > .zero { sites.append(state.floor.site) }
    if state.isLifeBare { sites.append(state.life.site) }
    sites.sort()
    return sites.enumerated().filter { $0.offset == 0 || sites[$0.offset - 1] != $0.element }.map(\.element)
  }

  private mutating func writeHead() {
    let sites = sites
    let places = Dictionary(uniqueKeysWithValues: sites.enumerated().map { ($0.element, $0.offset) })
    func index(_ site: SiteID) -> Int { places[site] ?? 0 }
    out.writeVarint(sites.count)
    for site in sites { out.write(site) }
    for vector in state.base.isEmpty ? [state.vector] : [state.vector, state.base] {
      out.writeVarint(vector.elements.count)
      for element in vector.elements {
        out.writeVarint(index(element.writer.site))
        writeReading(element.writer.birth)
        out.writeDistance(element.reading, from: element.writer.birth)
      }
    }
    out.writeVarint(
      state.isLifeBare
        ? index(state.life.site) : self.index(of: Writer(site: state.life.site, birth: state.lifeBirth)))
    if state.floor > .zero {
      out.writeVarint(index(state.floor.site))
      writeReading(state.floor.reading)
    }
  }

  /// Returns a writer's place in the vector plus one; zero for default data.
  private func index(of writer: Writer) -> Int {
    writer.birth == .zero ? 0 : (state.vector.index(of: writer) ?? -1) + 1
  }

  private mutating func writeReading(_ reading: ClockReading) {
    out.writeDistance(reading, from: state.life.reading)
  }

  private mutating func write(_ children: [Node.Child]) {
    out.writeVarint(children.count)
    for child in children {
      out.writeString(child.key.text)
      write(child.node)
    }
  }

  private mutating func write(_ node: Node) {
    let register = node.register
    var tag = register?.content.wireKind ?? Self.emptyKind
    let isMap = register?.content == .map
    let hasOwnStamp = register.map { $0.stamp != state.life || $0.birth != state.lifeBirth } ?? false
    if hasOwnStamp { tag |= Self.stampFlag }
    if node.floor != nil { tag |= Self.floorTagFlag }
    if !isMap, !node.children.isEmpty { tag |= Self.childrenFlag }
    out.write(tag)
    if let register, hasOwnStamp { write(register.stamp, register.birth) }
    switch register?.content {
    case .value(let value)?: ValueCodec.writeContent(value, to: &out)
    case .counter(let state)?: write(state)
    case .map?, .removed?, nil: break
    }
    if let floor = node.floor { write(floor.stamp, floor.birth) }
    if isMap || !node.children.isEmpty { write(node.children) }
  }

  private mutating func write(_ stamp: Stamp, _ birth: ClockReading) {
    let index = index(of: Writer(site: stamp.site, birth: birth))
    out.writeVarint(index)
    if index > 0 { writeReading(stamp.reading) }
  }

  private mutating func write(_ counter: CounterState) {
    out.writeSignedVarint(counter.base)
    out.writeVarint(counter.contributions.count)
    for contribution in counter.contributions {
      let writer = contribution.writer
      let index = index(of: writer)
      out.writeVarint(index)
      if index == 0 {
        // A writer that the vector does not list is identified by the place of its site's newest one.
        out.writeVarint(state.vector.newestPlace(of: writer.site))
        writeReading(writer.birth)
      }
      writeReading(contribution.reading)
      out.writeSignedVarint(contribution.amount)
    }
  }
}

extension DocumentState {
  /// Whether the stamps of all entries and the vector follow from the life's stamp.
  var isUniform: Bool {
    guard base.isEmpty, floor == .zero, isAlive, lifeBirth == life.reading else { return false }
    if life == .zero {
      guard vector.isEmpty else { return false }
    } else {
      let writer = Writer(site: life.site, birth: lifeBirth)
      guard vector.elements == [.init(writer: writer, reading: lifeBirth)] else { return false }
    }
    return root.children.allSatisfy { $0.node.isUniform(life, lifeBirth) }
  }
}

extension Node {
  fileprivate func isUniform(_ stamp: Stamp, _ birth: ClockReading) -> Bool {
    guard let register, floor == nil, register.stamp == stamp, register.birth == birth else { return false }
    switch register.content {
    case .removed: return false
    case .counter(let state): return state.contributions.isEmpty && children.isEmpty
    case .value: return children.isEmpty
    case .map: return children.allSatisfy { $0.node.isUniform(stamp, birth) }
    }
  }
}

extension Register.Content {
  fileprivate var wireKind: UInt8 {
    switch self {
    case .value(let value): ValueCodec.tag(of: value).rawValue
    case .map: WireWriter.mapKind
    case .removed: WireWriter.removedKind
    case .counter: WireWriter.counterKind
    }
  }
}

extension ByteWriter {
  /// Writes a clock reading as a signed distance from another, which wraps.
  mutating func writeDistance(_ reading: ClockReading, from base: ClockReading) {
    writeSignedVarint(Int64(bitPattern: reading.rawValue &- base.rawValue))
  }
}

extension ByteReader {
  mutating func readDistance(from base: ClockReading) throws(CodecError) -> ClockReading {
    ClockReading(rawValue: base.rawValue &+ UInt64(bitPattern: try readSignedVarint()))
  }

  /// Refuses a clock reading so late that hardly any would remain for later writes.
  func accept(_ reading: ClockReading) throws(CodecError) -> ClockReading {
    guard reading <= .latestAccepted else { throw failure(.limit, "a clock reading is beyond all bounds") }
    return reading
  }
}
