import CRDTCore

/// A document's number in its store, the key of its record.
///
/// Numbers are given in sequence and never reused. A number is gone once its document is gone. It means
/// nothing outside the store, nor after the document was evicted and came back.
public struct DocumentNumber: Hashable, Comparable, Sendable {
  package let rawValue: UInt64

  package init(_ rawValue: UInt64) { self.rawValue = rawValue }

  /// A number that no document has.
  static let none = DocumentNumber(0)
  /// The greatest number: its first byte on disk is never 255, because that byte ends ranges of index rows.
  static let maximum = DocumentNumber((1 << 56) - 1)

  /// Reads the number in all of `bytes` from `offset` on; `nil` if there is no document's number.
  @inline(__always)
  init?(_ bytes: RawSpan, at offset: Int = 0) {
    guard let (value, count) = OrderedInteger.read(bytes, at: offset), count == bytes.byteCount - offset,
      value > Self.none.rawValue, value <= Self.maximum.rawValue
    else { return nil }
    rawValue = value
  }

  /// Passes the number as it is on disk to `body`, without allocating.
  @inline(__always)
  func withBytes<R, Failure: Error>(_ body: (RawSpan) throws(Failure) -> R) throws(Failure) -> R {
    var words: (UInt64, UInt64) = (0, 0)
    // SAFETY: the span covers bytes of a local value that were written, and it is not used after `body`.
    return try unsafe withUnsafeMutableBytes(of: &words) { (room) throws(Failure) in
      let count = unsafe OrderedInteger.write(rawValue, to: room)
      return unsafe try body(RawSpan(_unsafeBytes: UnsafeRawBufferPointer(room)).extracting(0..<count))
    }
  }

  package var next: DocumentNumber { DocumentNumber(rawValue + 1) }
  package var previous: DocumentNumber { DocumentNumber(rawValue - 1) }

  public static func < (a: DocumentNumber, b: DocumentNumber) -> Bool { a.rawValue < b.rawValue }
}

/// A document's key in the table `documents`: its collection's number, then its own.
struct DocumentPlace {
  let collection: UInt32
  let number: DocumentNumber

  init(_ collection: UInt32, _ number: DocumentNumber) {
    self.collection = collection
    self.number = number
  }

  /// Reads a key; `nil` if it is not a document's key.
  @inline(__always)
  init?(_ key: RawSpan) {
    guard let (collection, count) = OrderedInteger.read(key), let collection = UInt32(exactly: collection),
      let number = DocumentNumber(key, at: count)
    else { return nil }
    self.init(collection, number)
  }

  /// The collection of a key, whatever follows it.
  static func collection(of key: RawSpan) -> UInt32? {
    OrderedInteger.read(key).flatMap { UInt32(exactly: $0.value) }
  }

  /// Passes the key to `body`, without allocating.
  @inline(__always)
  func withKey<R, Failure: Error>(_ body: (RawSpan) throws(Failure) -> R) throws(Failure) -> R {
    var words: (UInt64, UInt64, UInt64) = (0, 0, 0)
    // SAFETY: the span covers bytes of a local value that were written, and it is not used after `body`.
    return try unsafe withUnsafeMutableBytes(of: &words) { (room) throws(Failure) in
      let start = unsafe OrderedInteger.write(UInt64(collection), to: room)
      let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: room[start...])
      let end = unsafe start + OrderedInteger.write(number.rawValue, to: rest)
      return unsafe try body(RawSpan(_unsafeBytes: UnsafeRawBufferPointer(room)).extracting(0..<end))
    }
  }
}
