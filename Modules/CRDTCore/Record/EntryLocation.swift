/// Where an entry stands in a record: its slot, its number in the order of the tree, its path's hash.
struct EntryLocation {
  var slotOffset: Int
  var entry: Int
  var path: HashLanes
  /// The id of the path's first key; `missing` where the root carries its keys.
  var rootKey: UInt16
}

extension RecordView {
  /// Finds the entry at a path whose every step is a map.
  ///
  /// - Returns: `nil` when there is none, or the record is damaged.
  func locate(_ path: [String], _ keys: KeyTable) -> EntryLocation? {
    var walk = EntryWalk(self)
    for depth in path.indices {
      if depth > 0, !walk.descend() { return nil }
      guard walk.step(to: path[depth].utf8.span.bytes, keys) else { return nil }
    }
    return path.isEmpty ? nil : walk.location
  }
}

/// A walk from a record's root down to one entry, which counts the entries that it passes.
struct EntryWalk: ~Escapable {
  private let record: RawSpan
  private var node: MapNode
  private var budget: EntryBudget
  private(set) var location = EntryLocation(
    slotOffset: 0, entry: -1, path: StateHash.root, rootKey: ResolvedPath.missing)
  private var depth = 0

  @_lifetime(copy view)
  init(_ view: borrowing RecordView) {
    record = view.bytes
    node = view.root
    budget = EntryBudget(view.bytes)
  }

  var value: ValueRef {
    @_lifetime(copy self)
    get { ValueRef(record, slotAt: location.slotOffset) }
  }

  /// Goes on inside the map at the entry found last.
  mutating func descend() -> Bool {
    let value = value
    guard value.kind == .map, depth < Limits.depth else { return false }
    depth += 1
    node = value.node
    return true
  }

  /// Finds a key in the map that the walk has come to.
  mutating func step(to name: RawSpan, _ keys: KeyTable) -> Bool {
    let index: Int
    let hash: HashLanes
    if node.carriesKeys {
      guard let found = node.index(ofName: name) else { return false }
      index = found
      hash = HashLanes(name)
    } else {
      guard let (id, key) = keys.find(name), let offset = node.slotOffset(ofID: id) else { return false }
      index = (offset - node.slotOffset(0)) / 8
      hash = key
      if depth == 0 { location.rootKey = id }
    }
    location.slotOffset = node.slotOffset(index)
    location.path = location.path.combined(with: hash)
    location.entry += 1 + index
    let first = node.slotOffset(0)
    for before in 0..<index where record.isMapSlot(first + before * 8) {
      guard let count = try? count(below: first + before * 8) else { return false }
      location.entry += count
    }
    return true
  }

  private mutating func count(below slotOffset: Int, depth: Int = 0) throws(CodecError) -> Int {
    guard depth <= Limits.depth else { throw CodecError(.limit, "a map is nested too deep", at: slotOffset) }
    let map = MapNode(record, at: Int(record.load(slotOffset + 1, as: UInt32.self)))
    try budget.spend(on: map)
    var count = map.count
    let first = map.slotOffset(0)
    for index in 0..<map.count where record.isMapSlot(first + index * 8) {
      count += try self.count(below: first + index * 8, depth: depth + 1)
    }
    return count
  }
}

extension RawSpan {
  @inline(__always)
  fileprivate func isMapSlot(_ offset: Int) -> Bool {
    load(offset, as: UInt8.self) == RecordLayout.Tag.map.rawValue
  }
}
