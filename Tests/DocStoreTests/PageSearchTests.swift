@testable import DocStore
import TestKit
import Testing

/// The search on a page compares eight bytes at once, and finds what a comparison byte by byte finds.
@Suite struct PageSearchTests {
  private static let pageBytes = 4_096

  /// Keys in ascending order, many of which begin alike, contain zeros, or are shorter than eight bytes.
  private static func keys(_ generator: inout SeededGenerator) -> [[UInt8]] {
    let beginning = generator.bytes(below: 12)
    var keys: Set<[UInt8]> = []
    for _ in 0..<(1 + generator.int(below: 60)) {
      let rest = (0..<generator.int(below: 12)).map { _ in
        generator.pick([0, 0, 1, 0x7F, 0x80, 0xFF] as [UInt8])
      }
      let key = generator.oneIn(3) ? rest : beginning + rest
      if !key.isEmpty { keys.insert(key) }
    }
    return keys.sorted { $0.lexicographicallyPrecedes($1) }
  }

  /// Makes a page with these keys, the last of which ends where the page ends.
  private static func withPage(_ keys: [[UInt8]], _ body: (MappedPage) -> Void) {
    let page = UnsafeMutableRawPointer.allocate(byteCount: pageBytes, alignment: 8)
    defer { page.deallocate() }
    page.initializeMemory(as: UInt8.self, repeating: 0xEE, count: pageBytes)
    var upper = pageBytes
    for (index, key) in keys.enumerated() {
      upper = (upper - MappedPage.nodeBytes - key.count) & ~1
      page.storeBytes(of: UInt16(key.count).littleEndian, toByteOffset: upper + 6, as: UInt16.self)
      for (place, byte) in key.enumerated() {
        page.storeBytes(of: byte, toByteOffset: upper + MappedPage.nodeBytes + place, as: UInt8.self)
      }
      page.storeBytes(
        of: UInt16(upper).littleEndian, toByteOffset: MappedPage.headerBytes + 2 * index, as: UInt16.self)
    }
    let lower = MappedPage.headerBytes + 2 * keys.count
    page.storeBytes(of: UInt16(lower).littleEndian, toByteOffset: 12, as: UInt16.self)
    body(MappedPage(UnsafeRawPointer(page)))
  }

  @Test(arguments: 0..<8 as Range<UInt64>)
  func `every key is found, and every other key's place`(block: UInt64) {
    for seed in block * 50..<block * 50 + 50 {
      var generator = SeededGenerator(seed: seed)
      let keys = Self.keys(&generator)
      var asked = keys + [[], [0], [0xFF], Array(repeating: 0, count: 9)]
      for key in keys {
        asked += [key + [0], Array(key.dropLast()), key + [0, 0, 0, 0, 0, 0, 0, 0, 1]]
        asked.append(key.dropLast() + [key[key.count - 1] ^ 1])
      }
      Self.withPage(keys) { page in
        for key in asked {
          let place = keys.firstIndex { !$0.lexicographicallyPrecedes(key) } ?? keys.count
          let isSame = place < keys.count && keys[place] == key
          key.withUnsafeBytes { bytes in
            let start = bytes.baseAddress ?? page.start
            let found = page.search(KeyBytes(start: start, count: key.count), isLeaf: true)
            expect(found == (place, isSame), "seed \(seed): \(key) in \(keys)")
            // The first key of a branch counts as below all others.
            let below = page.search(KeyBytes(start: start, count: key.count), isLeaf: false)
            expect(below == (max(place, 1), place > 0 && isSame), "seed \(seed): \(key) in a branch")
          }
        }
      }
    }
  }
}
