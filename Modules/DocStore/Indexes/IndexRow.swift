package import CRDTCore

/// One row of an index, in place.
public struct IndexRow: ~Escapable {
  /// The number of the row's document; a transaction reads the record and the id by it.
  public let document: DocumentNumber
  /// The encoded values of the row; if ``isCut`` is set, only their beginning.
  package let values: RawSpan
  /// Whether the values were too long for a key.
  ///
  /// Rows with the same beginning are then in the order of their numbers, and a row at either end of a range
  /// may lie outside it. The caller must compare the documents themselves.
  public let isCut: Bool
  /// The kinds of numbers among the values: two bits for each field, the first field lowest.
  package let numberKinds: UInt16

  /// Reads a row of the table; `nil` if it is damaged.
  @_lifetime(copy key)
  init?(key: RawSpan, value: RawSpan) {
    guard let layout = RowValue(value, of: key), let (_, start) = OrderedInteger.read(key) else { return nil }
    let end = start + layout.valueBytes
    guard end < key.byteCount, let document = DocumentNumber(key, at: end) else { return nil }
    values = key.extracting(start..<end)
    self.document = document
    isCut = layout.isCut
    numberKinds = layout.numberKinds
  }

  /// Reads the values of the row's fields into `values`, which has as many elements.
  ///
  /// - Returns: Whether the row has all of them. Cut rows do not. Arrays, objects and attachments must be
  ///   read from the document.
  package func read(_ fields: [IndexField], into values: inout [Value?]) -> Bool {
    guard !isCut else { return false }
    var reader = IndexKeyReader(self.values)
    var kinds = numberKinds
    for (place, field) in fields.enumerated() {
      let kind = NumberKind(lowestBitsOf: kinds)
      guard reader.read(&values[place], descending: field.isDescending, kind) else { return false }
      kinds >>= 2
    }
    return true
  }
}

/// The value of a row: how the key is to be read, and a checksum.
struct RowValue: Equatable {
  private static let leastBytes = 5
  /// The prefix of the keys of an index's rows, which no other key has.
  static func prefix(_ index: UInt32) -> [UInt8] { OrderedInteger.bytes(UInt64(index)) }

  /// The index of the row with the key `key`.
  static func index(of key: RawSpan) -> UInt32? {
    OrderedInteger.read(key).flatMap { UInt32(exactly: $0.value) }
  }

  /// Replaces the count if the values were cut.
  private static let cut = UInt8.max

  let mark: UInt8
  /// See ``IndexRow/numberKinds``; 0 for cut rows.
  let numberKinds: UInt16

  init(valueBytes: Int, isCut: Bool, numberKinds: UInt16 = 0) {
    self.init(mark: isCut ? Self.cut : UInt8(clamping: valueBytes), numberKinds: isCut ? 0 : numberKinds)
  }

  init(mark: UInt8, numberKinds: UInt16) {
    self.mark = mark
    self.numberKinds = numberKinds
  }

  /// Reads a row's value; `nil` if its checksum does not fit the key.
  init?(_ value: RawSpan, of key: RawSpan) {
    let kindBytes = value.byteCount - Self.leastBytes
    guard (0...2).contains(kindBytes) else { return nil }
    var kinds: UInt16 = 0
    for place in (0..<kindBytes).reversed() {
      let byte = unsafe value.unsafeLoadUnaligned(fromByteOffset: Self.leastBytes + place, as: UInt8.self)
      kinds = kinds << 8 | UInt16(byte)
    }
    numberKinds = kinds
    mark = unsafe value.unsafeLoadUnaligned(fromByteOffset: 0, as: UInt8.self)
    let check = UInt32(bigEndian: unsafe value.unsafeLoadUnaligned(fromByteOffset: 1, as: UInt32.self))
    guard check == self.check(key), value.byteCount == byteCount else { return nil }
  }

  var isCut: Bool { mark == Self.cut }
  var valueBytes: Int { isCut ? IndexKeyWriter.valueBytes : Int(mark) }

  /// The encoded length: if all numbers are integers, which is usual, their kinds take no bytes.
  var byteCount: Int { Self.leastBytes + (numberKinds == 0 ? 0 : numberKinds < 256 ? 1 : 2) }

  func write(_ key: RawSpan, to room: UnsafeMutableRawBufferPointer) {
    var kinds = numberKinds
    for offset in Self.leastBytes..<byteCount {
      unsafe room.storeBytes(of: UInt8(truncatingIfNeeded: kinds), toByteOffset: offset, as: UInt8.self)
      kinds >>= 8
    }
    unsafe room.storeBytes(of: mark, as: UInt8.self)
    unsafe room.storeBytes(of: check(key).bigEndian, toByteOffset: 1, as: UInt32.self)
  }

  private func check(_ key: RawSpan) -> UInt32 {
    let lanes = HashLanes(key, seed: UInt64(mark) | UInt64(numberKinds) << 8)
    return UInt32(truncatingIfNeeded: lanes.first ^ (lanes.second >> 32))
  }
}
