import CRDTCore

/// A set of document ids that never denies a member.
///
/// An id goes in by one hash, which is all that a certificate knows of its document.
///
/// Source: Bloom, "Space/Time Trade-offs in Hash Coding with Allowable Errors", CACM 1970; the positions by
/// double hashing after Kirsch and Mitzenmacher, "Less Hashing, Same Performance", 2006.
struct IDFilter: Hashable {
  static let probes = 7
  private(set) var bytes: [UInt8]

  /// Makes an empty filter.
  init(byteCount: Int) { bytes = Array(repeating: 0, count: byteCount) }

  init(bytes: [UInt8]) { self.bytes = bytes }

  /// What stands for an id, at every peer.
  static func hash(_ id: RawSpan) -> UInt64 { HashLanes(id).first }

  /// What stands for an id, at every peer.
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

/// How large a filter is.
///
/// It is sized by how much the other side looks up in it: with seven probes each doubling of the bits divides chance hits by
/// up to 128, and two bits for each doubling of the lookups keep them below the filter's own bytes. One below a kilobyte is
/// nearly exact.
struct FilterSize: Hashable {
  static let leastBits: UInt64 = 10
  /// Bits of a filter that may as well be exact.
  static let exactBits: UInt64 = 8_192
  let byteCount: Int

  /// The size for `count` ids, when the other side holds so many `others` to look up.
  init(count: UInt64, others: UInt64, _ tuning: SyncTuning) {
    guard count > 0 else {
      byteCount = 1
      return
    }
    let doublings = UInt64(UInt64.bitWidth - (1 + min(others, .max - 1) / count).leadingZeroBitCount)
    let bits = min(tuning.filterBits, max(Self.leastBits + 2 * doublings, Self.exactBits / count))
    let bytes = count.multiplied(by: bits) / 8 + 1
    byteCount = Int(min(bytes, UInt64(SyncLimits.filterBytes)))
  }
}
