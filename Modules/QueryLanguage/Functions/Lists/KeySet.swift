import CRDTCore

/// Byte strings, each kept once and numbered in order of arrival: a hash table with open addressing.
package struct KeySet: Sendable {
  private var bytes: [UInt8] = []
  private var ends: [Int] = []
  private var hashes: [UInt64] = []
  /// The number of the key in each slot, plus one; zero means free.
  private var slots = [Int32](repeating: 0, count: 64)
  /// A random seed, so that the author of the values cannot provoke collisions.
  private let seed = UInt64.random(in: .min ... .max)

  package init() {}

  package var count: Int { ends.count }

  /// The number of a key; the key is added if it is new.
  package mutating func insert(_ key: [UInt8]) -> (number: Int, isNew: Bool) {
    let hash = HashLanes(key.span.bytes, seed: seed).first
    var place = Int(truncatingIfNeeded: hash) & (slots.count - 1)
    while slots[place] != 0 {
      let number = Int(slots[place]) - 1
      if hashes[number] == hash, isKey(key.span.bytes, at: number) { return (number, false) }
      place = (place + 1) & (slots.count - 1)
    }
    bytes += key
    ends.append(bytes.count)
    hashes.append(hash)
    slots[place] = Int32(clamping: count)
    if 2 * count > slots.count { grow() }
    return (count - 1, true)
  }

  /// Whether the set contains a key.
  func contains(_ key: RawSpan) -> Bool {
    let hash = HashLanes(key, seed: seed).first
    var place = Int(truncatingIfNeeded: hash) & (slots.count - 1)
    while slots[place] != 0 {
      let number = Int(slots[place]) - 1
      if hashes[number] == hash, isKey(key, at: number) { return true }
      place = (place + 1) & (slots.count - 1)
    }
    return false
  }

  private func isKey(_ key: RawSpan, at number: Int) -> Bool {
    let start = number == 0 ? 0 : ends[number - 1]
    return bytes.span.bytes.extracting(start..<ends[number]).isEqual(to: key)
  }

  private mutating func grow() {
    slots = [Int32](repeating: 0, count: 2 * slots.count)
    for number in hashes.indices {
      var place = Int(truncatingIfNeeded: hashes[number]) & (slots.count - 1)
      while slots[place] != 0 { place = (place + 1) & (slots.count - 1) }
      slots[place] = Int32(clamping: number + 1)
    }
  }
}
