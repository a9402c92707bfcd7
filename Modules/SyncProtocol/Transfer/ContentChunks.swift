import CRDTCore

/// Content-defined chunking: equal ranges of bytes are cut alike, whatever comes before them.
///
/// Source: Xia et al., "FastCDC: a Fast and Efficient Content-Defined Chunking Approach", USENIX ATC 2016.
enum ContentChunks {
  /// Average chunk sizes that peers can agree on, as powers of two.
  static let grains = 8...16
  /// Approximate number of chunks into which a staged transfer is cut.
  private static let aim = 256

  /// What each byte adds to the rolling hash.
  private static let gear: [UInt64] = (0..<256).map { HashLanes($0, 0, seed: 0x6765_6172).first }

  /// Returns the grain at which so many bytes give a few hundred chunks.
  static func grain(of byteCount: Int) -> Int {
    var grain = 10
    while grain < grains.upperBound, byteCount >> grain > aim { grain += 1 }
    return grain
  }

  /// Returns the ends of a transaction's chunks.
  ///
  /// Bytes after the last end are not a chunk yet, unless the transaction is `whole`.
  ///
  /// In a segment in columns, the heads are cut separately from the contents of the documents.
  static func ends(of transaction: ArraySlice<UInt8>, grain: Int, isWhole: Bool) -> [Int] {
    guard let end = SegmentColumns.headsEnd(in: transaction) else {
      return ends(in: transaction, grain: grain, isWhole: isWhole)
    }
    return ends(in: transaction[..<end], grain: grain, isWhole: true)
      + ends(in: transaction[end...], grain: grain, isWhole: isWhole)
  }

  /// Returns the ends of the chunks; bytes after the last end are no chunk yet, unless the bytes are `whole`.
  ///
  /// - Complexity: O(*n*), about a nanosecond a byte.
  static func ends(in bytes: ArraySlice<UInt8>, grain: Int, isWhole: Bool) -> [Int] {
    let gear = gear
    let least = 1 << (grain - 2)
    let most = 1 << (grain + 2)
    var ends: [Int] = []
    var start = bytes.startIndex
    var hash: UInt64 = 0
    var position = start
    while position < bytes.endIndex {
      hash = hash << 1 &+ gear[Int(bytes[position])]
      position += 1
      let count = position - start
      guard count >= least, hash >> UInt64(64 - grain) == 0 || count >= most else { continue }
      ends.append(position)
      start = position
      hash = 0
    }
    if isWhole, start < bytes.endIndex { ends.append(bytes.endIndex) }
    return ends
  }

  /// Returns a chunk's name: 48 bits, enough to find it by; the bytes found are checked by a longer hash.
  static func name(of bytes: ArraySlice<UInt8>) -> UInt64 {
    hash(of: bytes) & 0xFFFF_FFFF_FFFF
  }

  static func hash(of bytes: ArraySlice<UInt8>) -> UInt64 {
    bytes.withUnsafeBytes { unsafe HashLanes(RawSpan(_unsafeBytes: $0), seed: 0x7061_7274).first }
  }
}
