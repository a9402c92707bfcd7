import CRDTCore

/// What stands before a record in the table of documents: sequence, summary, check; 28 bytes.
///
/// The check covers sequence and summary with the document's key, so that a record that turns up under
/// another document's key is noticed; the record has a checksum of its own.
struct Envelope {
  static let byteCount = 28

  let sequence: UInt64
  let summary: Summary
  private let check: UInt32

  init(sequence: UInt64, summary: Summary, key: RawSpan) {
    self.sequence = sequence
    self.summary = summary
    check = Self.check(sequence, summary, key)
  }

  /// Reads the envelope of a stored document; `nil` when there is not even room for one.
  init?(_ stored: RawSpan) {
    guard stored.byteCount >= Self.byteCount else { return nil }
    sequence = stored.word(0)
    summary = Summary(high: stored.word(8), low: stored.word(16))
    check = UInt32(bigEndian: unsafe stored.unsafeLoadUnaligned(fromByteOffset: 24, as: UInt32.self))
  }

  func write(to room: UnsafeMutableRawBufferPointer) {
    unsafe room.storeBytes(of: sequence.bigEndian, toByteOffset: 0, as: UInt64.self)
    unsafe room.storeBytes(of: summary.high.bigEndian, toByteOffset: 8, as: UInt64.self)
    unsafe room.storeBytes(of: summary.low.bigEndian, toByteOffset: 16, as: UInt64.self)
    unsafe room.storeBytes(of: check.bigEndian, toByteOffset: 24, as: UInt32.self)
  }

  /// Whether the envelope is whole and belongs to `key`.
  func isIntact(for key: RawSpan) -> Bool { check == Self.check(sequence, summary, key) }

  private static func check(_ sequence: UInt64, _ summary: Summary, _ key: RawSpan) -> UInt32 {
    let lanes = HashLanes(key, seed: sequence).combined(with: HashLanes(summary.high, summary.low, seed: 1))
    return UInt32(truncatingIfNeeded: lanes.first ^ (lanes.second >> 32))
  }
}

extension RawSpan {
  /// The big-endian word at `offset`, which must lie inside.
  fileprivate func word(_ offset: Int) -> UInt64 {
    UInt64(bigEndian: unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }
}
