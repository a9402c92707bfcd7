/// Places of predicates by the constants that they demand, in 10 to 15 bytes of memory for each constant.
///
/// It is a hash table with open addressing and linear probing, of 32 bits of a value's hash. If two values
/// have the same 32 bits, a predicate is tested that will reject the document. Most constants occur in one
/// predicate, whose place is in the table itself; the places of others are lists.
///
/// Source: Knuth, "The Art of Computer Programming", volume 3, section 6.4, algorithm L.
struct ConstantTable: Sendable {
  private struct Slot {
    var hash: UInt32 = 0
    var entry = Entry.free
  }

  /// A place, or the head of a list of places, in 32 bits.
  private struct Entry: Equatable {
    static let free = Entry(rawValue: .min)

    private let rawValue: Int32

    private init(rawValue: Int32) { self.rawValue = rawValue }

    init(place: Int) { rawValue = Int32(place) }

    init(head: PlaceLists.Head) { rawValue = ~head }

    /// `nil` for a list.
    var place: Int? { rawValue >= 0 ? Int(rawValue) : nil }
    /// The head of the list; it has no meaning for a place.
    var head: PlaceLists.Head { ~rawValue }
  }

  private static let leastSlots = 16

  private var slots: [Slot] = []
  /// The number of hashes that have a slot.
  private var count = 0
  private var lists = PlaceLists()

  /// The bytes of memory that it uses.
  var byteCount: Int { slots.capacity * MemoryLayout<Slot>.stride + lists.byteCount }

  /// Adds a place under a value; for each place, each value at most once.
  ///
  /// - Complexity: O(1) on the average.
  mutating func add(_ place: Int, under value: ValueHash) {
    // At a load of four fifths, a search reads three slots on success, and thirteen on failure.
    if count * 5 >= slots.count * 4 { grow() }
    let hash = value.short
    let index = slot(of: hash)
    let entry = slots[index].entry
    guard entry != .free else {
      slots[index] = Slot(hash: hash, entry: Entry(place: place))
      count += 1
      return
    }
    let head = entry.place.map { lists.adding($0, to: nil) } ?? entry.head
    slots[index].entry = Entry(head: lists.adding(place, to: head))
  }

  /// Whether `accepts` accepts a place that is stored under a value.
  ///
  /// `accepts` may also be called with a few other places. It is not called again after it accepts one.
  func contains(_ value: ValueHash, where accepts: (Int) -> Bool) -> Bool {
    guard count > 0 else { return false }
    let entry = slots[slot(of: value.short)].entry
    guard entry != .free else { return false }
    if let place = entry.place { return accepts(place) }
    return lists.contains(in: entry.head, where: accepts)
  }

  /// The slot of a hash: its own, or the free slot for it.
  private func slot(of hash: UInt32) -> Int {
    var index = Int((UInt64(hash) * UInt64(slots.count)) >> 32)
    while slots[index].entry != .free, slots[index].hash != hash {
      index += 1
      if index == slots.count { index = 0 }
    }
    return index
  }

  /// Grows the table by half.
  private mutating func grow() {
    let former = slots
    slots = [Slot](repeating: Slot(), count: max(former.count / 2 * 3, Self.leastSlots))
    for one in former where one.entry != .free { slots[slot(of: one.hash)] = one }
  }
}
