package import CRDTCore

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
  /// What kinds of numbers the values are, two bits for each field, the first ones lowest.
  package let numberKinds: UInt16

  /// A row of the table; `nil` when it is damaged.
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

  /// Puts the values of the row's fields into `values`, which has as many.
  ///
  /// - Returns: Whether the row has all of them: cut rows have not, and arrays, objects and attachments are
  ///   for their documents to show.
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

/// What stands under a row's key: how the key is to be read, and a check.
struct RowValue: Equatable {
  private static let leastBytes = 5
  /// What the keys of an index's rows begin with, and no others do.
  static func prefix(_ index: UInt32) -> [UInt8] { OrderedInteger.bytes(UInt64(index)) }

  /// The index of the row with the key `key`.
  static func index(of key: RawSpan) -> UInt32? {
    OrderedInteger.read(key).flatMap { UInt32(exactly: $0.value) }
  }

  /// In place of a count: the values fill their room, and more was cut off.
  private static let cut = UInt8.max

  let mark: UInt8
  /// As ``IndexRow/numberKinds``; 0 for cut rows.
  let numberKinds: UInt16

  init(valueBytes: Int, isCut: Bool, numberKinds: UInt16 = 0) {
    self.init(mark: isCut ? Self.cut : UInt8(clamping: valueBytes), numberKinds: isCut ? 0 : numberKinds)
  }

  init(mark: UInt8, numberKinds: UInt16) {
    self.mark = mark
    self.numberKinds = numberKinds
  }

  /// Reads a row's value; `nil` when its check is not that of its key.
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

  /// Bytes that it takes: integers are the usual numbers, and take none.
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
