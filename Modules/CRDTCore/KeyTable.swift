/// A collection's field names and their ids: append-only, so that old records stay readable.
///
/// It is a value with shared storage: copying costs a retain, and adding a name to a shared table copies it.
public struct KeyTable: Sendable {
  /// The most names that a table holds; the record stores further keys itself.
  public static let capacity = 4_096
  /// The most names of maps below the root; the keys of such maps may be data.
  static let nestedCapacity = 1_024
  /// The longest name that gets an id, in bytes.
  static let nameBytes = 64

  // SAFETY: the storage is only written while uniquely referenced, so shared copies never change. For the
  // same reason no access overlaps a write, so the properties that every lookup reads are not checked at run
  // time.
  final class Storage: @unchecked Sendable {
    var names: [String] = []
    @exclusivity(unchecked) var bytes: [UInt8] = []
    @exclusivity(unchecked) var ends: [Int] = []
    @exclusivity(unchecked) var hashes: [HashLanes] = []
    /// All ids in the order of their names' bytes.
    var order: [UInt16] = []
    /// The position of each id in that order.
    @exclusivity(unchecked) var ranks: [UInt16] = []
    /// Open addressing by hash; 0 is a free slot, any other number is id + 1.
    @exclusivity(unchecked) var slots: [UInt16] = Array(repeating: 0, count: 64)

    func copy() -> Storage {
      let copy = Storage()
      copy.names = names
      copy.bytes = bytes
      copy.ends = ends
      copy.hashes = hashes
      copy.order = order
      copy.ranks = ranks
      copy.slots = slots
      return copy
    }
  }

  private var storage = Storage()
  /// The names that were looked up last, each at its own place; empty before the first lookup.
  private var recent: [RecentName] = []

  public init() {}

  /// Makes a table whose ids are the indexes of `names`; if a name occurs twice, the first counts.
  public init(names: [String]) {
    for name in names.prefix(Self.capacity) { storage.append(name, HashLanes(name)) }
    storage.rank()
  }

  public var count: Int { storage.names.count }

  /// All names; the index is the id.
  public var names: [String] { storage.names }

  public func name(of id: UInt16) -> String? {
    Int(id) < storage.names.count ? storage.names[Int(id)] : nil
  }

  public func id(of name: String) -> UInt16? {
    var name = name
    return name.withUTF8 {
      unsafe storage.find(RawSpan(_unsafeElements: $0), HashLanes(RawSpan(_unsafeElements: $0)))
    }
  }

  /// Returns the id of a name that is given as a key.
  public func id(of key: TextKey) -> UInt16? { id(of: key.text) }

  /// Whether no record can have this key at its root: it has no id, and would have got one.
  package func rulesOut(_ key: TextKey) -> Bool {
    id(of: key) == nil && key.text.utf8.count <= Self.nameBytes && count < Self.capacity
  }

  /// Returns the id of a name that is given as UTF-8.
  package func id(of name: RawSpan) -> UInt16? { storage.find(name, HashLanes(name)) }

  /// Returns the id of a name that is given as UTF-8, and the name's hash.
  func find(_ name: RawSpan) -> (id: UInt16, hash: HashLanes)? {
    let hash = HashLanes(name)
    return storage.find(name, hash).map { ($0, hash) }
  }

  /// Finds a name that is likely to be looked up again.
  ///
  /// An example is the name of a field that a transaction changes in many documents. Later lookups of such a
  /// name neither hash it nor compare it byte by byte.
  @inline(__always)
  mutating func findAgain(_ path: Span<TextKey>, _ index: Int) -> (id: UInt16, hash: HashLanes)? {
    let bits = RecentName.bits(path, index)
    let place = RecentName.place(bits)
    if place < recent.count, recent[place].bits == bits { return (recent[place].id, recent[place].hash) }
    return findAndKeep(path[index].text, bits, at: place)
  }

  @inline(never)
  private mutating func findAndKeep(
    _ name: String, _ bits: RecentName.Bits, at place: Int
  ) -> (id: UInt16, hash: HashLanes)? {
    guard let (id, hash) = name.withUTF8Bytes({ find($0) }) else { return nil }
    // Longer names have the same bits only if they are equal and in the same memory, which is rare.
    guard RecentName.isUsable, name.utf8.count <= RecentName.nameBytes else { return (id, hash) }
    let known = RecentName(name: name, bits: bits, id: id, hash: hash)
    if recent.isEmpty {
      recent = Array(repeating: known, count: RecentName.places)
    } else {
      recent[place] = known
    }
    return (id, hash)
  }

  func hash(of id: UInt16) -> HashLanes { storage.hashes[Int(id)] }

  func rank(of id: UInt16) -> UInt16 { storage.ranks[Int(id)] }

  /// Returns the hash of a name; `nil` for an unknown id.
  func hash(of id: UInt16) -> HashLanes? {
    Int(id) < storage.hashes.count ? storage.hashes[Int(id)] : nil
  }

  /// The bytes of a name in place, and its position in the order of all names; `nil` for an unknown id.
  @inline(__always)
  @_lifetime(borrow self)
  func nameInOrder(_ id: UInt16) -> NameInOrder? {
    let id = Int(id)
    guard id < storage.ends.count else { return nil }
    let start = id == 0 ? 0 : storage.ends[id - 1]
    // SAFETY: shared storage never changes, and `self` keeps it in place; the range is one of its names.
    guard let first = unsafe storage.bytes.withUnsafeBufferPointer({ $0.baseAddress }) else {
      return nil
    }
    let name = unsafe RawSpan(
      _unsafeStart: UnsafeRawPointer(first) + start, byteCount: storage.ends[id] - start)
    return unsafe NameInOrder(bytes: _overrideLifetime(name, borrowing: self), rank: storage.ranks[id])
  }

  /// A name in place, and its position in the order of all names of its table.
  struct NameInOrder: ~Escapable {
    let bytes: RawSpan
    let rank: UInt16

    @_lifetime(copy bytes)
    init(bytes: RawSpan, rank: UInt16) { (self.bytes, self.rank) = (bytes, rank) }
  }

  /// Calls `body` with the name's bytes; does nothing for an unknown id.
  func withName<R>(_ id: UInt16, _ body: (RawSpan) -> R) -> R? {
    guard Int(id) < storage.names.count else { return nil }
    let start = id == 0 ? 0 : storage.ends[Int(id) - 1]
    let bytes = storage.bytes
    return body(bytes.span.bytes.extracting(start..<storage.ends[Int(id)]))
  }

  /// Returns the id of `name`, a new one if necessary; `nil` if the name is too long or the table is full.
  package mutating func intern(_ name: RawSpan, nested: Bool = false) -> UInt16? {
    let hash = HashLanes(name)
    if let id = storage.find(name, hash) { return id }
    guard name.byteCount <= Self.nameBytes, count < (nested ? Self.nestedCapacity : Self.capacity) else {
      return nil
    }
    if !isKnownUniquelyReferenced(&storage) { storage = storage.copy() }
    let string = unsafe name.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
    storage.append(string, hash)
    storage.rankLast()
    return UInt16(count - 1)
  }

  package mutating func intern(_ name: String, nested: Bool = false) -> UInt16? {
    var name = name
    // The copy keeps exclusive access to `self` out of the closure that reads the name.
    return name.withUTF8 { utf8 in unsafe intern(RawSpan(_unsafeElements: utf8), nested: nested) }
  }

  package mutating func intern(_ key: TextKey, nested: Bool = false) -> UInt16? {
    intern(key.text, nested: nested)
  }

  /// Whether both values share their storage, so that their ids are interchangeable.
  package func isIdentical(to other: KeyTable) -> Bool { storage === other.storage }
}

extension KeyTable.Storage {
  func find(_ name: RawSpan, _ hash: HashLanes) -> UInt16? {
    let mask = slots.count - 1
    var slot = Int(truncatingIfNeeded: hash.first) & mask
    while slots[slot] != 0 {
      let id = Int(slots[slot]) - 1
      if hashes[id] == hash {
        let start = id == 0 ? 0 : ends[id - 1]
        if bytes.span.bytes.extracting(start..<ends[id]).isEqual(to: name) { return UInt16(id) }
      }
      slot = (slot + 1) & mask
    }
    return nil
  }

  func append(_ name: String, _ hash: HashLanes) {
    let known = bytes.count
    bytes.append(contentsOf: name.utf8)
    if find(bytes.span.bytes.extracting(known..<bytes.count), hash) != nil {
      bytes.removeLast(bytes.count - known)
      return
    }
    names.append(name)
    ends.append(bytes.count)
    hashes.append(hash)
    if names.count * 2 > slots.count {
      slots = Array(repeating: 0, count: slots.count * 2)
      for id in names.indices { place(id) }
    } else {
      place(names.count - 1)
    }
  }

  private func place(_ id: Int) {
    let mask = slots.count - 1
    var slot = Int(truncatingIfNeeded: hashes[id].first) & mask
    while slots[slot] != 0 { slot = (slot + 1) & mask }
    slots[slot] = UInt16(id + 1)
  }

  /// Ranks all names again.
  func rank() {
    order = names.indices.map { UInt16($0) }.sorted { names[Int($0)].utf8Compare(names[Int($1)]) < 0 }
    ranks = Array(repeating: 0, count: names.count)
    for (rank, id) in order.enumerated() { ranks[Int(id)] = UInt16(rank) }
  }

  /// Ranks the name that was added last.
  func rankLast() {
    let id = names.count - 1
    var low = 0
    var high = order.count
    while low < high {
      let middle = (low + high) / 2
      if names[Int(order[middle])].utf8Compare(names[id]) < 0 { low = middle + 1 } else { high = middle }
    }
    order.insert(UInt16(id), at: low)
    ranks.append(0)
    for rank in low..<order.count { ranks[Int(order[rank])] = UInt16(rank) }
  }
}

extension String {
  /// Compares the UTF-8 bytes, the order of every format here; the result is below, equal to or above zero.
  package func utf8Compare(_ other: String) -> Int {
    var a = self
    var b = other
    return a.withUTF8 { x in
      b.withUTF8 { y in unsafe RawSpan(_unsafeElements: x).compare(RawSpan(_unsafeElements: y)) }
    }
  }
}

extension RawSpan {
  /// Compares byte by byte, then by length; the result is below, equal to or above zero.
  package func compare(_ other: RawSpan) -> Int {
    let count = Swift.min(byteCount, other.byteCount)
    var offset = 0
    while count - offset >= 8 {
      let a = UInt64(bigEndian: unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
      let b = UInt64(bigEndian: unsafe other.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
      if a != b { return a < b ? -1 : 1 }
      offset += 8
    }
    while offset < count {
      let a = unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: UInt8.self)
      let b = unsafe other.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt8.self)
      if a != b { return a < b ? -1 : 1 }
      offset += 1
    }
    return byteCount - other.byteCount
  }

  @inline(__always)
  package func isEqual(to other: RawSpan) -> Bool {
    let count = byteCount
    guard count == other.byteCount else { return false }
    // SAFETY: every load ends at or before the end of both, which have the same length.
    if count < 8 { return isShortEqual(to: other) }
    var offset = 0
    while count &- offset > 8 {
      if word(at: offset) != other.word(at: offset) { return false }
      offset &+= 8
    }
    return word(at: count &- 8) == other.word(at: count &- 8)
  }

  /// The same for fewer than eight bytes; both have the same length.
  @inline(__always)
  private func isShortEqual(to other: RawSpan) -> Bool {
    if byteCount >= 4 {
      return load4(0) == other.load4(0) && load4(byteCount &- 4) == other.load4(byteCount &- 4)
    }
    return shortTail(from: 0) == other.shortTail(from: 0)
  }

  /// SAFETY: the span must have four bytes from `offset` on.
  @inline(__always)
  private func load4(_ offset: Int) -> UInt32 {
    unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: UInt32.self)
  }
}
