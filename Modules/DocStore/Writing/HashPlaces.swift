/// A hash table of positions in another array: open addressing, linear probing, no allocation per entry.
struct HashPlaces {
  /// The position plus 1; 0 is free.
  private var slots: [UInt32] = []
  private var count = 0

  /// An empty table with room for a number of positions; a capacity of 0 takes no memory.
  init(capacity: Int = 0) {
    guard capacity > 0 else { return }
    var size = 16
    while size < capacity * 2 { size *= 2 }
    slots = Array(repeating: 0, count: size)
  }

  /// The position with `hash` for which `matches` returns `true`.
  func place(of hash: UInt64, where matches: (Int) -> Bool) -> Int? {
    guard !slots.isEmpty else { return nil }
    let mask = slots.count - 1
    var slot = Int(truncatingIfNeeded: hash) & mask
    while slots[slot] != 0 {
      let place = Int(slots[slot]) - 1
      if matches(place) { return place }
      slot = (slot + 1) & mask
    }
    return nil
  }

  /// Adds a position that is not in the table; `hashOf` returns the others' hashes when the table grows.
  mutating func insert(_ place: Int, _ hash: UInt64, _ hashOf: (Int) -> UInt64) {
    if (count + 1) * 2 > slots.count {
      let old = slots
      slots = Array(repeating: 0, count: max(16, old.count * 2))
      for entry in old where entry != 0 { take(Int(entry) - 1, hashOf(Int(entry) - 1)) }
    }
    take(place, hash)
    count += 1
  }

  private mutating func take(_ place: Int, _ hash: UInt64) {
    let mask = slots.count - 1
    var slot = Int(truncatingIfNeeded: hash) & mask
    while slots[slot] != 0 { slot = (slot + 1) & mask }
    slots[slot] = UInt32(place + 1)
  }
}
