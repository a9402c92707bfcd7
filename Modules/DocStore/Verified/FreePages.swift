/// The engine's list of free pages: for each transaction, a count and the freed pages, the last page first.
enum FreePages {
  /// Whether an entry of the list is valid: pages of the file, in order.
  static func isWhole(_ key: RawSpan, _ value: RawSpan, pageCount: Int) -> Bool {
    guard key.byteCount == 8, value.byteCount >= 8, value.byteCount % 8 == 0, word(value, 0) < 1 << 40 else {
      return false
    }
    let count = Int(word(value, 0))
    guard count < value.byteCount / 8 else { return false }
    var next = UInt64(pageCount)
    for place in 0..<count {
      let page = word(value, place + 1)
      guard page >= UInt64(Environment.metaPages), page < next else { return false }
      next = page
    }
    return true
  }

  /// Visits the pages of a valid entry.
  static func forEach(_ value: RawSpan, _ body: (Int) -> Void) {
    for place in 0..<Int(word(value, 0)) { body(Int(word(value, place + 1))) }
  }

  static func transaction(_ key: RawSpan) -> UInt64 { word(key, 0) }

  @inline(__always)
  private static func word(_ bytes: RawSpan, _ index: Int) -> UInt64 {
    UInt64(littleEndian: unsafe bytes.unsafeLoadUnaligned(fromByteOffset: 8 * index, as: UInt64.self))
  }
}
