import CRDTCore

/// One row of an index, in place.
public struct IndexRow: ~Escapable {
  /// The number of the row's document, whose record and id a transaction reads by it.
  public let document: DocumentNumber
  /// The encoded values that the row stands under, of which ``isCut`` rows have only the beginning.
  package let values: RawSpan
  /// Whether the values were too long for a key.
  ///
  /// Rows with one beginning then stand in the order of their numbers, and a row at either end of a range may
  /// lie outside it: whoever reads them compares the documents themselves.
  public let isCut: Bool

  /// A row of the table; `nil` when it is damaged.
  @_lifetime(copy key)
  init?(key: RawSpan, value: RawSpan) {
    guard let layout = RowValue(value, of: key), let (_, start) = OrderedInteger.read(key) else { return nil }
    let end = start + layout.valueBytes
    guard end < key.byteCount, let document = DocumentNumber(key, at: end) else { return nil }
    values = key.extracting(start..<end)
    self.document = document
    isCut = layout.isCut
  }
}

/// What stands under a row's key: how the key is to be read, and a check.
struct RowValue {
  static let byteCount = 5
  /// What the keys of an index's rows begin with, and no others do.
  static func prefix(_ index: UInt32) -> [UInt8] { OrderedInteger.bytes(UInt64(index)) }

  /// The index of the row with the key `key`.
  static func index(of key: RawSpan) -> UInt32? {
    OrderedInteger.read(key).flatMap { UInt32(exactly: $0.value) }
  }

  /// In place of a count: the values fill their room, and more was cut off.
  private static let cut = UInt8.max

  let mark: UInt8

  init(valueBytes: Int, isCut: Bool) { mark = isCut ? Self.cut : UInt8(clamping: valueBytes) }

  /// Reads a row's value; `nil` when its check is not that of its key.
  init?(_ value: RawSpan, of key: RawSpan) {
    guard value.byteCount == Self.byteCount else { return nil }
    mark = unsafe value.unsafeLoadUnaligned(fromByteOffset: 0, as: UInt8.self)
    let check = UInt32(bigEndian: unsafe value.unsafeLoadUnaligned(fromByteOffset: 1, as: UInt32.self))
    guard check == self.check(key) else { return nil }
  }

  var isCut: Bool { mark == Self.cut }
  var valueBytes: Int { isCut ? IndexKeyWriter.valueBytes : Int(mark) }

  func write(_ key: RawSpan, to room: UnsafeMutableRawBufferPointer) {
    unsafe room.storeBytes(of: mark, as: UInt8.self)
    unsafe room.storeBytes(of: check(key).bigEndian, toByteOffset: 1, as: UInt32.self)
  }

  private func check(_ key: RawSpan) -> UInt32 {
    let lanes = HashLanes(key, seed: UInt64(mark))
    return UInt32(truncatingIfNeeded: lanes.first ^ (lanes.second >> 32))
  }
}
