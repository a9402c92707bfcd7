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
    var depth = 0
    while depth < path.count {
      if depth > 0, !walk.descend() { return nil }
      guard walk.step(to: path[depth].utf8.span.bytes, keys) else { return nil }
      depth &+= 1
    }
    return path.isEmpty ? nil : walk.location
  }
}

/// A walk from a record's root down to one entry, which counts the entries that it passes.
struct EntryWalk: ~Escapable, BitwiseCopyable {
  private let record: RawSpan
  private var node: MapNode
  private var budget: EntryBudget
  private(set) var location = EntryLocation(
    slotOffset: 0, entry: -1, path: StateHash.root, rootKey: ResolvedPath.missing)
  private var depth = 0

  @_lifetime(copy view)
  @inline(__always)
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
  @inline(__always)
  mutating func descend() -> Bool {
    let value = value
    guard value.kind == .map, depth < Limits.depth else { return false }
    depth += 1
    node = value.node
    return true
  }

  /// Finds a key in the map that the walk has come to.
  @inline(__always)
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
    let first = node.slotOffset(0)
    guard index > 0 else {
      location.entry &+= 1
      return true
    }
    let below = record.entries(below: first, first &+ index &* 8, &budget, depth: 0)
    guard below >= 0 else { return false }
    location.entry &+= 1 &+ index &+ below
    return true
  }
}

extension RawSpan {
  /// How many entries lie below those of a run of slots; less than zero in a damaged record.
  fileprivate func entries(below start: Int, _ end: Int, _ budget: inout EntryBudget, depth: Int) -> Int {
    var total = 0
    var slot = start
    while slot < end {
      let map = map(inSlot: slot)
      if map.first > 0 {
        guard depth <= Limits.depth, budget.take(map.count) else { return -1 }
        total &+= map.count
        // The maps in here, without a call for each: most have none below them.
        var inner = map.first
        let innerEnd = inner &+ map.count &* 8
        while inner < innerEnd {
          let nested = self.map(inSlot: inner)
          if nested.first > 0 {
            guard depth < Limits.depth, budget.take(nested.count) else { return -1 }
            let first = nested.first
            let below = entries(below: first, first &+ nested.count &* 8, &budget, depth: depth &+ 2)
            guard below >= 0 else { return -1 }
            total &+= nested.count &+ below
          }
          inner &+= 8
        }
      }
      slot &+= 8
    }
    return total
  }

  /// The first slot and the number of entries of the map that a slot holds; zeros where it holds none.
  ///
  /// SAFETY: the slot must lie inside.
  @inline(__always)
  private func map(inSlot slot: Int) -> (first: Int, count: Int) {
    let word = unsafe UInt64(
      littleEndian: unsafeLoadUnaligned(fromUncheckedByteOffset: slot, as: UInt64.self))
    guard UInt8(truncatingIfNeeded: word) == RecordLayout.Tag.map.rawValue else { return (0, 0) }
    let map = MapNode(self, at: Int(truncatingIfNeeded: (word >> 8) & 0xFFFF_FFFF))
    return (map.slotOffset(0), map.count)
  }
}
