import CRDTCore

/// Finds those of many sought texts that another text may contain, without a search for each.
///
/// Each sought text is stored under four of its bytes: those under which the fewest others are stored. So a
/// text is read once, however many texts are sought.
struct GramIndex: Sendable {
  /// The least length of a sought text.
  static let gramBytes = 4
  /// The most grams of a sought text that are tried.
  private static let triedGrams = 64
  /// A random factor for each process, so that nobody can choose grams that share a slot.
  private static let factor = UInt64.random(in: .min ... .max) | 1

  /// A table with open addressing: a gram, and in the bits above it its number, from 1; 0 is free.
  private var slots = [UInt64](repeating: 0, count: 16)
  /// The places under each gram and their count, by the grams' numbers, from 0.
  private var grams: [(places: PlaceLists.Head, count: Int32)] = []
  private var places = PlaceLists()

  /// Stores a place under a text of at least four bytes.
  ///
  /// - Complexity: O(1), with the growth of the table spread over all insertions.
  mutating func insert(_ place: Int, under sought: [UInt8]) {
    var best: (gram: UInt32, slot: Int, count: Int32)?
    for start in 0...min(sought.count - Self.gramBytes, Self.triedGrams - 1) {
      let gram = sought.span.bytes.gram(at: start)
      let slot = slot(of: gram)
      let count = slots[slot] == 0 ? 0 : grams[Self.number(slots[slot])].count
      if best.map({ count <= $0.count }) ?? true { best = (gram, slot, count) }
    }
    guard let best else { return }
    if slots[best.slot] != 0 {
      let number = Self.number(slots[best.slot])
      grams[number] = (places.adding(place, to: grams[number].places), best.count + 1)
      return
    }
    grams.append((places.adding(place, to: nil), 1))
    slots[best.slot] = UInt64(grams.count) << 32 | UInt64(best.gram)
    // At this load, most grams of a text find a free slot immediately.
    if grams.count * 8 > slots.count { grow() }
  }

  private static func number(_ slot: UInt64) -> Int { Int(slot >> 32) - 1 }

  private mutating func grow() {
    let former = slots
    slots = [UInt64](repeating: 0, count: former.count * 2)
    for entry in former where entry != 0 { slots[slot(of: UInt32(truncatingIfNeeded: entry))] = entry }
  }

  /// The slot of a gram, or the free slot for it.
  private func slot(of gram: UInt32) -> Int {
    var slot = firstSlot(of: gram)
    while slots[slot] != 0, UInt32(truncatingIfNeeded: slots[slot]) != gram {
      slot = (slot + 1) & (slots.count - 1)
    }
    return slot
  }

  private func firstSlot(of gram: UInt32) -> Int {
    let shift = UInt64(slots.count.leadingZeroBitCount + 1)
    return Int((UInt64(gram) &* Self.factor) &>> shift)
  }

  /// Whether `accepts` accepts one of the places whose texts may be part of a text.
  ///
  /// - Parameters:
  ///   - text: The text to search.
  ///   - visited: Places that are not tested again; tested places are added.
  ///   - accepts: Is called with each such place, until it returns `true`.
  /// - Returns: Whether it did.
  /// - Complexity: O(*n*) in the bytes of the text, and the calls of `accepts`.
  func contains(in text: RawSpan, visited: inout VisitedNumbers, where accepts: (Int) -> Bool) -> Bool {
    let slots = slots.span
    let mask = slots.count - 1
    let (factor, shift) = (Self.factor, UInt64(slots.count.leadingZeroBitCount + 1))
    var visitedGrams = VisitedNumbers()
    var offset = 0
    while offset + Self.gramBytes <= text.byteCount {
      let gram = text.gram(at: offset)
      offset += 1
      var slot = Int((UInt64(gram) &* factor) &>> shift)
      while slots[slot] != 0 {
        guard UInt32(truncatingIfNeeded: slots[slot]) == gram else {
          slot = (slot + 1) & mask
          continue
        }
        let number = Self.number(slots[slot])
        guard visitedGrams.insert(number) else { break }
        let isAccepted = places.contains(in: grams[number].places) { place in
          visited.insert(place) && accepts(place)
        }
        if isAccepted { return true }
        break
      }
    }
    return false
  }
}

/// Small numbers, one bit each; it uses no memory before the first.
struct VisitedNumbers {
  private var words: [UInt64] = []

  /// - Returns: Whether the number is new.
  mutating func insert(_ number: Int) -> Bool {
    while words.count <= number / 64 { words.append(0) }
    let bit: UInt64 = 1 << (number % 64)
    guard words[number / 64] & bit == 0 else { return false }
    words[number / 64] |= bit
    return true
  }
}

extension RawSpan {
  /// Four bytes as a number; there must be four bytes at `offset`.
  fileprivate func gram(at offset: Int) -> UInt32 {
    unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: UInt32.self)
  }
}
