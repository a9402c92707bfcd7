import CRDTCore

/// A document's row in the table `documents`: check, summary and sequence, its id, its record.
///
/// The check covers the row's key and everything except the record, which has its own checksum. So it detects
/// a row in the wrong place, and an id that is not the document's.
struct DocumentRow: ~Escapable {
  let number: DocumentNumber
  let sequence: UInt64
  let summary: Summary
  /// The id's bytes.
  let id: RawSpan
  let record: RawSpan
  private let check: UInt32

  /// The bytes of the check and the summary.
  private static let fixedBytes = 20

  /// Reads the row of a number; `nil` if it is too short for a row.
  @inline(__always)
  @_lifetime(copy stored)
  init?(_ stored: RawSpan, number: DocumentNumber) {
    guard stored.byteCount > Self.fixedBytes,
      let (sequence, sequenceBytes) = OrderedInteger.read(stored, at: Self.fixedBytes)
    else { return nil }
    let head = Self.fixedBytes + sequenceBytes
    guard stored.byteCount > head else { return nil }
    let start = head + 1
    let end = start + Int(unsafe stored.unsafeLoadUnaligned(fromByteOffset: head, as: UInt8.self)) + 1
    guard stored.byteCount >= end else { return nil }
    self.number = number
    self.sequence = sequence
    check = UInt32(bigEndian: unsafe stored.unsafeLoadUnaligned(fromByteOffset: 0, as: UInt32.self))
    summary = Summary(high: stored.word(4), low: stored.word(12))
    id = stored.extracting(start..<end)
    record = stored.extracting(end..<stored.byteCount)
  }

  /// Whether the row is intact except for its record, and belongs to the document with the key `path`.
  func isIntact(for path: RawSpan) -> Bool { check == Self.check(sequence, summary, path, number) }

  /// The same for the document that the row itself names.
  func isIntact(in collection: UInt32) -> Bool {
    DocumentPath.withKey(collection, id) { isIntact(for: $0) }
  }

  /// Whether the whole row is intact, including its record.
  func verify(for path: RawSpan) -> Bool { isIntact(for: path) && RecordView(record).verify() }

  /// The same for the document that the row itself names.
  func verify(in collection: UInt32) -> Bool { isIntact(in: collection) && RecordView(record).verify() }

  private static func check(
    _ sequence: UInt64, _ summary: Summary, _ path: RawSpan, _ number: DocumentNumber
  ) -> UInt32 {
    let lanes = HashLanes(path, seed: sequence).combined(
      with: HashLanes(summary.high, summary.low, seed: number.rawValue))
    return UInt32(truncatingIfNeeded: lanes.first ^ (lanes.second >> 32))
  }

  /// The data from which a row is written.
  struct Draft {
    let sequence: UInt64
    let number: DocumentNumber
    let document: EncodedDocument

    /// The size in bytes of the row of the document with the key `path`.
    func byteCount(_ path: RawSpan) -> Int {
      fixedBytes + OrderedInteger.byteCount(sequence) + 1 + path.byteCount - DocumentPath.prefixBytes
        + document.record.count
    }

    func write(_ path: RawSpan, to room: UnsafeMutableRawBufferPointer) {
      let id = path.extracting(DocumentPath.prefixBytes..<path.byteCount)
      let check = check(sequence, document.summary, path, number)
      unsafe room.storeBytes(of: check.bigEndian, toByteOffset: 0, as: UInt32.self)
      unsafe room.storeBytes(of: document.summary.high.bigEndian, toByteOffset: 4, as: UInt64.self)
      unsafe room.storeBytes(of: document.summary.low.bigEndian, toByteOffset: 12, as: UInt64.self)
      // A record is longer than the bytes that may be written after the sequence, and it is written last.
      let head =
        unsafe fixedBytes
        + OrderedInteger.write(sequence, to: UnsafeMutableRawBufferPointer(rebasing: room[fixedBytes...]))
      unsafe room.storeBytes(
        of: UInt8(truncatingIfNeeded: id.byteCount - 1), toByteOffset: head, as: UInt8.self)
      let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: room[(head + 1)...])
      unsafe id.withUnsafeBytes { unsafe rest.copyMemory(from: $0) }
      unsafe UnsafeMutableRawBufferPointer(rebasing: rest[id.byteCount...]).copyBytes(from: document.record)
    }
  }
}

extension RawSpan {
  /// The big-endian word at `offset`, which must be in bounds.
  fileprivate func word(_ offset: Int) -> UInt64 {
    UInt64(bigEndian: unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }
}
