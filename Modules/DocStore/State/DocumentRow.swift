import CRDTCore

/// A document's number in its store, under which its record stands: given in turn, never again, and gone
/// with the document.
///
/// It is of no meaning outside the store, nor after the document was evicted and came back.
public struct DocumentNumber: Hashable, Comparable, Sendable {
  package let rawValue: UInt64

  package init(_ rawValue: UInt64) { self.rawValue = rawValue }

  static let byteCount = 6
  /// No document has it.
  static let none = DocumentNumber(0)
  /// The greatest: a number's first byte on disk is never 255, which ends ranges of index rows.
  static let maximum = DocumentNumber(0xFEFF_FFFF_FFFF)

  /// Reads the number at the end of a key, or all of a value; ``none`` where there is no room for one.
  init(endOf bytes: RawSpan) {
    let start = bytes.byteCount - Self.byteCount
    guard start >= 0 else {
      self = .none
      return
    }
    let high = UInt16(bigEndian: unsafe bytes.unsafeLoadUnaligned(fromByteOffset: start, as: UInt16.self))
    let low = UInt32(bigEndian: unsafe bytes.unsafeLoadUnaligned(fromByteOffset: start + 2, as: UInt32.self))
    rawValue = UInt64(high) << 32 | UInt64(low)
  }

  func write(to room: UnsafeMutableRawBufferPointer) {
    unsafe room.storeBytes(of: UInt16(truncatingIfNeeded: rawValue >> 32).bigEndian, as: UInt16.self)
    unsafe room.storeBytes(
      of: UInt32(truncatingIfNeeded: rawValue).bigEndian, toByteOffset: 2, as: UInt32.self)
  }

  var next: DocumentNumber { DocumentNumber(rawValue + 1) }

  public static func < (a: DocumentNumber, b: DocumentNumber) -> Bool { a.rawValue < b.rawValue }
}

/// Where a document stands in the table `documents`: its collection's number, then its own.
struct DocumentPlace {
  static let byteCount = 4 + DocumentNumber.byteCount

  let collection: UInt32
  let number: DocumentNumber

  init(_ collection: UInt32, _ number: DocumentNumber) {
    self.collection = collection
    self.number = number
  }

  /// Reads a key; `nil` for one that is none.
  init?(_ key: RawSpan) {
    guard key.byteCount == Self.byteCount, let collection = DocumentPath.collection(of: key) else {
      return nil
    }
    self.init(collection, DocumentNumber(endOf: key))
  }

  /// Hands the key to `body`, without allocating.
  @inline(__always)
  func withKey<R, Failure: Error>(_ body: (RawSpan) throws(Failure) -> R) throws(Failure) -> R {
    let words = (
      (UInt64(collection) << 32 | number.rawValue >> 16).bigEndian, (number.rawValue << 48).bigEndian
    )
    // SAFETY: the span is of the first bytes of a local value, and not used after `body`.
    return try unsafe withUnsafeBytes(of: words) { (bytes) throws(Failure) in
      unsafe try body(RawSpan(_unsafeBytes: bytes).extracting(0..<Self.byteCount))
    }
  }
}

/// A document as it stands in the table `documents`: sequence, summary and check, its id, its record.
///
/// The check covers all but the record, which has a checksum of its own, and the row's key: so a row that
/// turns up in another's place is noticed, and so is an id that is not the document's.
struct DocumentRow: ~Escapable {
  let number: DocumentNumber
  let sequence: UInt64
  let summary: Summary
  /// The id's bytes.
  let id: RawSpan
  let record: RawSpan
  private let check: UInt32

  private static let envelopeBytes = 28
  private static let headBytes = envelopeBytes + 1

  /// Reads the row of a number; `nil` when there is no room for what a row has.
  @inline(__always)
  @_lifetime(copy stored)
  init?(_ stored: RawSpan, number: DocumentNumber) {
    guard stored.byteCount > Self.headBytes else { return nil }
    let last = Int(unsafe stored.unsafeLoadUnaligned(fromByteOffset: Self.envelopeBytes, as: UInt8.self))
    let start = Self.headBytes + last + 1
    guard stored.byteCount >= start else { return nil }
    self.number = number
    sequence = stored.word(0)
    summary = Summary(high: stored.word(8), low: stored.word(16))
    check = UInt32(bigEndian: unsafe stored.unsafeLoadUnaligned(fromByteOffset: 24, as: UInt32.self))
    id = stored.extracting(Self.headBytes..<start)
    record = stored.extracting(start..<stored.byteCount)
  }

  /// Whether the row is whole up to its record, and is of the document with the key `path`.
  func isIntact(for path: RawSpan) -> Bool { check == Self.check(sequence, summary, path, number) }

  /// The same for the document that the row itself names.
  func isIntact(in collection: UInt32) -> Bool {
    DocumentPath.withKey(collection, id) { isIntact(for: $0) }
  }

  /// Whether all of it is whole, its record too.
  func verify(for path: RawSpan) -> Bool { isIntact(for: path) && RecordView(record).verify() }

  private static func check(
    _ sequence: UInt64, _ summary: Summary, _ path: RawSpan, _ number: DocumentNumber
  ) -> UInt32 {
    let lanes = HashLanes(path, seed: sequence).combined(
      with: HashLanes(summary.high, summary.low, seed: number.rawValue))
    return UInt32(truncatingIfNeeded: lanes.first ^ (lanes.second >> 32))
  }

  /// What a row is written from.
  struct Draft {
    let sequence: UInt64
    let number: DocumentNumber
    let document: EncodedDocument

    /// Bytes of the row of the document with the key `path`.
    func byteCount(_ path: RawSpan) -> Int {
      headBytes + path.byteCount - DocumentPath.prefixBytes + document.record.count
    }

    func write(_ path: RawSpan, to room: UnsafeMutableRawBufferPointer) {
      let id = path.extracting(DocumentPath.prefixBytes..<path.byteCount)
      let check = check(sequence, document.summary, path, number)
      unsafe room.storeBytes(of: sequence.bigEndian, toByteOffset: 0, as: UInt64.self)
      unsafe room.storeBytes(of: document.summary.high.bigEndian, toByteOffset: 8, as: UInt64.self)
      unsafe room.storeBytes(of: document.summary.low.bigEndian, toByteOffset: 16, as: UInt64.self)
      unsafe room.storeBytes(of: check.bigEndian, toByteOffset: 24, as: UInt32.self)
      unsafe room.storeBytes(
        of: UInt8(truncatingIfNeeded: id.byteCount - 1), toByteOffset: envelopeBytes, as: UInt8.self)
      let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: room[headBytes...])
      unsafe id.withUnsafeBytes { unsafe rest.copyMemory(from: $0) }
      unsafe UnsafeMutableRawBufferPointer(rebasing: rest[id.byteCount...]).copyBytes(from: document.record)
    }
  }
}

extension RawSpan {
  /// The big-endian word at `offset`, which must lie inside.
  fileprivate func word(_ offset: Int) -> UInt64 {
    UInt64(bigEndian: unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }
}
