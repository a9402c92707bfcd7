import CRDTCore

/// A Bloom filter of document ids: it never denies a member.
///
/// An id is represented by one hash, since a compacted tombstone has nothing else of its document.
///
/// Source: Bloom, "Space/Time Trade-offs in Hash Coding with Allowable Errors", CACM 1970; the positions by
/// double hashing after Kirsch and Mitzenmacher, "Less Hashing, Same Performance", 2006.
struct IDFilter: Hashable {
  static let probes = 7
  private(set) var bytes: [UInt8]

  /// Makes an empty filter.
  init(byteCount: Int) { bytes = Array(repeating: 0, count: byteCount) }

  init(bytes: [UInt8]) { self.bytes = bytes }

  /// Returns the hash of an id, which is the same at every peer.
  static func hash(_ id: RawSpan) -> UInt64 { HashLanes(id).first }

  /// Returns the hash of an id, which is the same at every peer.
  static func hash(_ id: DocumentID) -> UInt64 { hash(id.bytes.span.bytes) }

  mutating func insert(_ hash: UInt64) {
    for probe in 0..<Self.probes {
      let position = position(hash, probe)
      bytes[position >> 3] |= 1 << UInt8(position & 7)
    }
  }

  func contains(_ hash: UInt64) -> Bool {
    (0..<Self.probes).allSatisfy { probe in
      let position = position(hash, probe)
      return bytes[position >> 3] & (1 << UInt8(position & 7)) != 0
    }
  }

  private func position(_ hash: UInt64, _ probe: Int) -> Int {
    // The finisher of SplitMix64 (Steele and others, 2014).
    var step = hash &+ 0x9E37_79B9_7F4A_7C15
    step = (step ^ (step >> 30)) &* 0xBF58_476D_1CE4_E5B9
    step = (step ^ (step >> 27)) &* 0x94D0_49BB_1331_11EB
    step ^= step >> 31
    return Int((hash &+ UInt64(probe) &* (step | 1)) % UInt64(bytes.count * 8))
  }
}

/// The size of a Bloom filter.
///
/// It depends on the number of lookups that the other side will make. With seven probes, each doubling of the
/// bits divides false positives by up to 128. Two more bits per doubling of the lookups keep the cost of
/// false positives below the size of the filter. A filter below a kilobyte is nearly exact.
struct FilterSize: Hashable {
  static let leastBits: UInt64 = 10
  /// The number of bits up to which a filter may be nearly exact.
  static let exactBits: UInt64 = 8_192
  let byteCount: Int

  /// Makes the size for `count` ids, when the other side looks up `others` documents.
  init(count: UInt64, others: UInt64, _ tuning: SyncTuning) {
    guard count > 0 else {
      byteCount = 1
      return
    }
    let doublings = UInt64(UInt64.bitWidth - (1 + min(others, .max - 1) / count).leadingZeroBitCount)
    let bits = min(tuning.notices.filterBits, max(Self.leastBits + 2 * doublings, Self.exactBits / count))
    let bytes = count.multiplied(by: bits) / 8 + 1
    byteCount = Int(min(bytes, UInt64(SyncLimits.filterBytes)))
  }
}
