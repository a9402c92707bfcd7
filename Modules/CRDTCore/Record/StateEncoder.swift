/// Encodes a document's state as a record: nodes and slots for visible fields, metadata for the rest.
struct StateEncoder {
  private var builder: RecordBuilder
  private var tables: RecordTables
  private var metadata = RecordMetadata()
  private var summary: Summary
  private let base: Register
  private var entry = 0

  private init(_ state: DocumentState, tables: RecordTables) {
    builder = RecordBuilder()
    self.tables = tables
    summary = state.envelopeSummary
    base = state.commonRegister
    metadata.vector = state.vector
    metadata.base = metadata.mark(base.stamp, base.birth)
    metadata.life = metadata.mark(state.life, state.lifeBirth)
    if state.isLifeBare { metadata.bareLife = state.life }
    metadata.floor = state.floor
  }

  static func encode(_ state: DocumentState, own site: SiteID, tables: inout RecordTables) -> EncodedDocument
  {
    var encoder = StateEncoder(state, tables: tables)
    let root = encoder.write(state.root, path: StateHash.root, names: [])
    if let birth = state.ownBirth {
      encoder.metadata.ownWriter = encoder.metadata.index(of: Writer(site: site, birth: birth))
    }
    let isPlain = encoder.isPlain(state)
    let isOwn = state.ownBirth != nil
    var bytes: [UInt8] = []
    if !isPlain {
      bytes = encoder.metadata.encode(base: encoder.base.stamp.reading, tables: &encoder.tables)
    }
    let record = encoder.builder.finish(
      root: root, base: encoder.base.stamp, isAlive: state.isAlive, isOwn: isOwn, metadata: bytes,
      sites: &encoder.tables.sites)
    tables = encoder.tables
    return EncodedDocument(record: record, summary: encoder.summary, isAlive: state.isAlive)
  }

  /// Whether the header alone contains everything: one stamp, one writer born with it, nothing invisible.
  private func isPlain(_ state: DocumentState) -> Bool {
    let stamp = base.stamp
    let birth = base.birth
    let isOneWriter =
      stamp == .zero
      ? state.vector.isEmpty
      : birth == stamp.reading
        && state.vector.elements == [.init(writer: Writer(site: stamp.site, birth: birth), reading: birth)]
    return isOneWriter && state.isAlive && state.life == stamp && state.floor == .zero
      && (state.ownBirth == nil || state.ownBirth == birth)
      && metadata.marks.isEmpty && metadata.counters.isEmpty && metadata.hidden.isEmpty
      && metadata.floors.isEmpty
  }

  private mutating func write(_ node: Node, path: HashLanes, names: [TextKey]) -> Int {
    var shown: [Node.Child] = []
    for child in node.children {
      let below = names + [child.key]
      noteFloors(of: child.node, names: below)
      if child.node.isVisible { shown.append(child) } else { hide(child.node, path: path, names: below) }
    }
    let ids = shown.count <= RecordLayout.idKeys ? intern(shown, nested: !names.isEmpty) : nil
    let map = builder.beginMap(count: shown.count, carriesKeys: ids == nil)
    for (index, child) in shown.enumerated() {
      if let ids {
        builder.setKey(ids[index], at: index, of: map)
      } else {
        let utf8 = Array(child.key.utf8)
        builder.setKey(utf8.span.bytes, at: index, of: map)
      }
      let slot = write(
        entryOf: child, path: path.combined(with: HashLanes(child.key)), names: names + [child.key])
      let offset = builder.slotOffset(index, of: map, count: shown.count, carriesKeys: ids == nil)
      builder.setSlot(slot, at: offset)
    }
    return map
  }

  private mutating func intern(_ children: [Node.Child], nested: Bool) -> [UInt16]? {
    var ids: [UInt16] = []
    for child in children {
      guard let id = tables.keys.intern(child.key, nested: nested) else { return nil }
      ids.append(id)
    }
    return ids
  }

  private mutating func write(entryOf child: Node.Child, path: HashLanes, names: [TextKey]) -> UInt64 {
    let register = child.node.register
    register?.addHash(path: path, to: &summary)
    let index = entry
    entry += 1
    let showsMap = child.node.hasVisibleChild || register?.content == .map
    if let register, register.content == .map || !showsMap {
      if register.stamp != base.stamp || register.birth != base.birth {
        metadata.marks.append((index, metadata.mark(register.stamp, register.birth)))
      }
    } else {
      metadata.marks.append((index, .init(writer: metadata.noRegister, reading: .zero)))
      if let register { metadata.hidden.append(.init(path: names, register: register)) }
    }
    guard !showsMap else { return builder.mapSlot(write(child.node, path: path, names: names)) }
    // Entries below a value are invisible: they are removals that still compete.
    for below in child.node.children {
      hide(below.node, path: path, names: names + [below.key], floorToo: true)
    }
    switch register?.content {
    case .value(let value)?: return builder.slot(value)
    case .counter(let state)?:
      if !state.contributions.isEmpty { metadata.counters.append(.init(entry: index, state: state)) }
      return builder.intSlot(state.sum, counter: true)
    case .map?, .removed?, nil: return 0
    }
  }

  private mutating func noteFloors(of node: Node, names: [TextKey]) {
    if node.hasMetDefault { metadata.floors.append(.init(path: names, floor: .defaultMet)) }
    if let floor = node.floor { metadata.floors.append(.init(path: names, floor: floor)) }
  }

  /// Keeps what no reader sees: removals, and floors below them.
  private mutating func hide(_ node: Node, path: HashLanes, names: [TextKey], floorToo: Bool = false) {
    if floorToo { noteFloors(of: node, names: names) }
    if let register = node.register { metadata.hidden.append(.init(path: names, register: register)) }
    for child in node.children { hide(child.node, path: path, names: names + [child.key], floorToo: true) }
  }
}

extension DocumentState {
  /// A register with the stamp that most entries share, or with the life's stamp if there are no entries.
  ///
  /// Source: Boyer and Moore, "MJRTY: A Fast Majority Vote Algorithm", 1981; if no stamp has a majority, all
  /// are counted.
  fileprivate var commonRegister: Register {
    var registers: [Register] = []
    func gather(_ node: Node) {
      if let register = node.register { registers.append(register) }
      for child in node.children { gather(child.node) }
    }
    gather(root)
    var candidate = Register(stamp: life, birth: lifeBirth, content: .map)
    var votes = 0
    for register in registers {
      if votes == 0 { candidate = register }
      votes += register.hasStamp(of: candidate) ? 1 : -1
    }
    if registers.count(where: { $0.hasStamp(of: candidate) }) * 2 >= registers.count { return candidate }
    var counts: [Stamp: Int] = [:]
    for register in registers { counts[register.stamp, default: 0] += 1 }
    let most = counts.max { ($0.value, $0.key) < ($1.value, $1.key) }
    return registers.first { $0.stamp == most?.key } ?? candidate
  }
}

extension Register {
  fileprivate func hasStamp(of other: Register) -> Bool { stamp == other.stamp && birth == other.birth }
}
