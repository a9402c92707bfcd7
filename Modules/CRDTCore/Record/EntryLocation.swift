/// The location of an entry in a record: its slot, its number in tree order, and its path's hash.
struct EntryLocation {
  var slotOffset = 0
  var entry = -1
  var path = StateHash.root
  /// The id of the path's first key; `missing` if the root carries its keys.
  var rootKey = ResolvedPath.missing

  /// Returns the most entries that a walk may pass.
  ///
  /// Each entry has ten bytes of its own, so a walk that passes more is in a damaged record whose maps share
  /// nodes.
  @inline(__always)
  static func most(_ record: RawSpan) -> Int { record.byteCount / 10 }

  /// Moves to an entry of `node`, which is the map at this location or the root.
  @inline(__always)
  mutating func advance(
    to index: Int, _ hash: HashLanes, in node: borrowing MapNode, _ left: inout Int
  ) -> Bool {
    let first = node.slotOffset(0)
    slotOffset = first &+ index &* 8
    path = path.combined(with: hash)
    // Marks identify an entry by its number, so the entries below the earlier ones count as well.
    let below = index > 0 ? node.record.entries(below: first, slotOffset, atMost: left, depth: 0) : 0
    guard below >= 0 else { return false }
    left &-= below
    entry &+= 1 &+ index &+ below
    return true
  }
}

extension RecordView {
  /// Finds the entry at a path whose every step is a map.
  ///
  /// - Returns: `nil` when there is none, or when the record is damaged.
  func locate(_ path: [TextKey], _ keys: KeyTable) -> EntryLocation? {
    var walk = EntryWalk(self)
    for depth in path.indices {
      if depth > 0, !walk.descend() { return nil }
      guard path[depth].text.withUTF8Bytes({ walk.step(to: $0, keys) }) else { return nil }
    }
    return path.isEmpty ? nil : walk.location
  }

  /// The same for a path that is likely to be used again; the table caches its names.
  @inline(__always)
  func locate(_ path: Span<TextKey>, _ keys: inout KeyTable) -> EntryLocation? {
    // This uses its own variables instead of an `EntryWalk`, which would not stay in registers.
    var location = EntryLocation()
    var left = EntryLocation.most(bytes)
    var offset = Int(bytes.load(RecordLayout.rootOffset, as: UInt32.self))
    var depth = 0
    while depth < path.count {
      if depth > 0 {
        let parent = ValueRef(bytes, slotAt: location.slotOffset)
        guard parent.kind == .map, depth <= Limits.depth else { return nil }
        offset = parent.heapOffset
      }
      let node = MapNode(bytes, at: offset)
      // This is rare: a map that carries its keys is larger than any that does not.
      guard !node.carriesKeys else { return locate(path.indices.map { path[$0] }, keys) }
      guard let (id, hash) = keys.findAgain(path, depth), let index = node.index(ofID: id),
        location.advance(to: index, hash, in: node, &left)
      else { return nil }
      if depth == 0 { location.rootKey = id }
      depth &+= 1
    }
    return depth > 0 ? location : nil
  }
}

extension RecordView {
  /// Returns the index of the root's entry with a number; `nil` if no root entry has it.
  func rootIndex(ofEntry entry: Int) -> Int? {
    let root = root
    var left = EntryLocation.most(bytes)
    var number = 0
    for index in 0..<root.count where number <= entry {
      if number == entry { return index }
      let slot = root.slotOffset(index)
      let below = bytes.entries(below: slot, slot &+ 8, atMost: left, depth: 0)
      guard below >= 0 else { return nil }
      left &-= below
      number &+= 1 &+ below
    }
    return nil
  }
}

/// A walk from a record's root down to one entry; it counts the entries that it passes.
struct EntryWalk: ~Escapable, BitwiseCopyable {
  private let record: RawSpan
  private var node: MapNode
  /// The number of further entries that the walk may pass.
  private var left: Int
  private(set) var location = EntryLocation()
  private var depth = 0

  @_lifetime(copy view)
  @inline(__always)
  init(_ view: borrowing RecordView) {
    record = view.bytes
    node = view.root
    left = EntryLocation.most(view.bytes)
  }

  var value: ValueRef {
    @_lifetime(copy self)
    @inline(__always)
    get { ValueRef(record, slotAt: location.slotOffset) }
  }

  /// Moves into the map at the entry that was found last.
  @inline(__always)
  mutating func descend() -> Bool {
    let value = value
    guard value.kind == .map, depth < Limits.depth else { return false }
    depth += 1
    node = value.node
    return true
  }

  /// Finds a key in the map that the walk is at.
  @inline(__always)
  mutating func step(to name: RawSpan, _ keys: KeyTable) -> Bool {
    if node.carriesKeys {
      guard let index = node.index(ofName: name) else { return false }
      return location.advance(to: index, HashLanes(name), in: node, &left)
    }
    guard let (id, hash) = keys.find(name), let index = node.index(ofID: id) else { return false }
    if depth == 0 { location.rootKey = id }
    return location.advance(to: index, hash, in: node, &left)
  }
}

extension RawSpan {
  /// Returns how many entries are below those of a range of slots; less than zero in a damaged record.
  fileprivate func entries(below start: Int, _ end: Int, atMost limit: Int, depth: Int) -> Int {
    var total = 0
    var slot = start
    while slot < end {
      if isMap(inSlot: slot) {
        let map = map(inSlot: slot)
        total &+= map.count
        guard depth <= Limits.depth, total <= limit else { return -1 }
        // The inner maps are walked without a call for each, because most have no maps below them.
        var inner = map.first
        let innerEnd = inner &+ map.count &* 8
        while inner < innerEnd {
          if isMap(inSlot: inner) {
            let nested = self.map(inSlot: inner)
            total &+= nested.count
            guard depth < Limits.depth, total <= limit else { return -1 }
            let end = nested.first &+ nested.count &* 8
            let below = entries(below: nested.first, end, atMost: limit &- total, depth: depth &+ 2)
            guard below >= 0 else { return -1 }
            total &+= below
          }
          inner &+= 8
        }
      }
      slot &+= 8
    }
    return total
  }

  /// SAFETY: the slot must be inside the span; the same holds for `map(inSlot:)`.
  @inline(__always)
  private func isMap(inSlot slot: Int) -> Bool {
    unsafe unsafeLoad(fromUncheckedByteOffset: slot, as: UInt8.self) == RecordLayout.Tag.map.rawValue
  }

  /// Returns the first slot and the number of entries of the map in a slot.
  @inline(__always)
  private func map(inSlot slot: Int) -> (first: Int, count: Int) {
    let offset = unsafe unsafeLoadUnaligned(fromUncheckedByteOffset: slot &+ 1, as: UInt32.self)
    let map = MapNode(self, at: Int(UInt32(littleEndian: offset)))
    return (map.slotOffset(0), map.count)
  }
}
