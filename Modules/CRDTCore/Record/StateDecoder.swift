extension DocumentState {
  /// Decodes a record into the state that it represents.
  ///
  /// - Parameters:
  ///   - view: The record.
  ///   - ownSite: The site of the store that holds the record and continues to write it. If the store has
  ///     taken a new site, a writer that is marked as its own no longer is.
  ///   - tables: The tables that the record refers to.
  /// - Throws: A `CodecError` when the record is damaged or the tables are too old for it.
  /// - Complexity: O(*n*) in the record's size.
  package init(
    _ view: borrowing RecordView, own ownSite: SiteID? = nil, tables: RecordTables
  ) throws(CodecError) {
    let reading = view.baseReading
    if view.isFresh {
      guard let site = tables.sites[view.baseSite] else {
        throw CodecError(
          .unknownName, "a site ordinal is not in the store's table", at: RecordLayout.baseSiteOffset)
      }
      self.init(life: Stamp(reading: reading, site: site), lifeBirth: reading, isAlive: view.isAlive)
      if reading > .zero { vector.advance(Writer(site: site, birth: reading), to: reading) }
      ownBirth = view.isOwn && site == ownSite ?? site ? reading : nil
      var cursor = EntryCursor(base: life, birth: reading, metadata: RecordMetadata(), record: view.bytes)
      root.children = try cursor.children(of: view.root, tables.keys, depth: 0)
      return
    }
    var reader = ByteReader(view.metadata)
    let metadata = try RecordMetadata(&reader, base: reading, tables: tables)
    let lifeWriter = metadata.writer(metadata.life)
    let life = metadata.bareLife ?? Stamp(reading: metadata.life.reading, site: lifeWriter.site)
    self.init(life: life, lifeBirth: lifeWriter.birth, isAlive: view.isAlive)
    vector = metadata.vector
    floor = metadata.floor
    if metadata.ownWriter > 0 {
      let own = metadata.vector.elements[metadata.ownWriter - 1].writer
      ownBirth = own.site == ownSite ?? own.site ? own.birth : nil
    }
    let baseWriter = metadata.writer(metadata.base)
    let base = metadata.base.writer == 0 ? Stamp.zero : Stamp(reading: reading, site: baseWriter.site)
    var cursor = EntryCursor(base: base, birth: baseWriter.birth, metadata: metadata, record: view.bytes)
    root.children = try cursor.children(of: view.root, tables.keys, depth: 0)
    root.makeRoom(for: metadata.hidden.map(\.path) + metadata.floors.map(\.path))
    for item in metadata.hidden { root.place(item.path[...]) { $0.register = item.register } }
    for item in metadata.floors {
      root.place(item.path[...]) { node in
        if item.floor == .defaultMet { node.hasMetDefault = true } else { node.floor = item.floor }
      }
    }
  }
}

extension Node {
  fileprivate mutating func place(_ path: ArraySlice<TextKey>, _ body: (inout Node) -> Void) {
    guard let key = path.first else { return body(&self) }
    withChild(key) { $0.place(path.dropFirst(), body) }
  }
}

/// Walks a record's entries in tree order and assigns each its stamp.
private struct EntryCursor {
  let base: Stamp
  let birth: ClockReading
  let metadata: RecordMetadata
  var entry = 0
  var nextMark = 0
  var nextCounter = 0
  var budget: EntryBudget

  init(base: Stamp, birth: ClockReading, metadata: RecordMetadata, record: RawSpan) {
    budget = EntryBudget(record)
    self.base = base
    self.birth = birth
    self.metadata = metadata
  }

  mutating func children(
    of map: borrowing MapNode, _ keys: KeyTable, depth: Int
  ) throws(CodecError) -> [Node.Child] {
    guard depth <= Limits.depth else { throw CodecError(.limit, "a map is nested too deep", at: map.offset) }
    try budget.spend(on: map)
    var children: [Node.Child] = []
    children.reserveCapacity(map.count)
    for index in 0..<map.count {
      let value = ValueRef(map.record, slotAt: map.slotOffset(index))
      var node = Node()
      var (stamp, birth) = (base, birth)
      var hasRegister = true
      if nextMark < metadata.marks.count, metadata.marks[nextMark].entry == entry {
        let mark = metadata.marks[nextMark].mark
        nextMark += 1
        hasRegister = mark.writer != metadata.noRegister
        let writer = metadata.writer(mark)
        stamp = Stamp(reading: mark.reading, site: writer.site)
        birth = writer.birth
      }
      var counter: CounterState?
      if nextCounter < metadata.counters.count, metadata.counters[nextCounter].entry == entry {
        counter = metadata.counters[nextCounter].state
        nextCounter += 1
      }
      entry += 1
      if hasRegister {
        let content: Register.Content =
          switch value.kind {
          case .map: .map
          case .counter: .counter(counter ?? CounterState(base: value.int))
          default: .value(try value.materialize(keys))
          }
        node.register = Register(stamp: stamp, birth: birth, content: content)
      }
      if value.kind == .map { node.children = try self.children(of: value.node, keys, depth: depth + 1) }
      children.append(Node.Child(key: TextKey(try map.name(index, keys)), node: node))
    }
    return children
  }
}
