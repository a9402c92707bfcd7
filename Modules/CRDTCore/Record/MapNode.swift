/// One map inside a record, in place: its keys in ascending order of their bytes, and their slots.
///
/// Layout: a u32 head (count × 2, plus 1 when the keys are in the record). Then per key a u16 id, or a u32
/// offset of a u16 length and the key's bytes. Then per key an 8-byte slot.
struct MapNode: ~Escapable, BitwiseCopyable {
  let record: RawSpan
  let offset: Int
  let count: Int
  let carriesKeys: Bool

  /// Makes the node at `offset`; a node that does not fit its record is empty.
  @_lifetime(copy record)
  @inline(__always)
  init(_ record: RawSpan, at offset: Int) {
    let head = Int(record.load(offset, as: UInt32.self))
    let keyBytes = head & 1 == 0 ? 2 : 4
    let fits =
      offset >= RecordLayout.headerBytes && record.byteCount - offset - 4 >= (head >> 1) * (keyBytes + 8)
    self.record = record
    self.offset = offset
    count = fits ? head >> 1 : 0
    carriesKeys = head & 1 == 1
  }

  private var keysOffset: Int { offset + 4 }
  // The whole node is in its record, so no offset in it overflows.
  private var slotsOffset: Int { offset &+ 4 &+ count &* (carriesKeys ? 4 : 2) }

  func slotOffset(_ index: Int) -> Int { slotsOffset &+ index &* 8 }

  func keyID(_ index: Int) -> UInt16 { record.load(keysOffset + index * 2) }

  /// Returns the bytes of a key that is in the record.
  @_lifetime(copy self)
  func inlineKey(_ index: Int) -> RawSpan {
    let at = Int(record.load(keysOffset + index * 4, as: UInt32.self))
    return record.clipped(at + 2, Int(record.load(at, as: UInt16.self)))
  }

  /// Returns the offset of a key's slot, by the key's id; only for maps that do not carry their keys.
  @inline(__always)
  func slotOffset(ofID id: UInt16) -> Int? { index(ofID: id).map { slotOffset($0) } }

  /// Returns the position of a key by its id; only for maps that do not carry their keys.
  ///
  /// - Complexity: O(*k*), four keys a step; such maps are small.
  @inline(__always)
  func index(ofID id: UInt16) -> Int? {
    guard id != ResolvedPath.missing else { return nil }
    let pattern = UInt64(id) &* 0x0001_0001_0001_0001
    let first = offset &+ 4
    var index = 0
    while index < count {
      // SAFETY: the slots that follow the keys keep an eight-byte load inside the record.
      let difference =
        unsafe UInt64(
          littleEndian: record.unsafeLoadUnaligned(
            fromUncheckedByteOffset: first &+ index &* 2, as: UInt64.self))
        ^ pattern
      let zeros = (difference &- 0x0001_0001_0001_0001) & ~difference & 0x8000_8000_8000_8000
      if zeros != 0 {
        let found = index &+ zeros.trailingZeroBitCount / 16
        return found < count ? found : nil
      }
      index &+= 4
    }
    return nil
  }

  /// Returns the position of a key by its name; only for maps that carry their keys.
  func index(ofName name: RawSpan) -> Int? {
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      let order = inlineKey(middle).compare(name)
      if order == 0 { return middle }
      if order < 0 { low = middle + 1 } else { high = middle }
    }
    return nil
  }

  /// Returns the name of a key; if the key is an id, the table has the name.
  func name(_ index: Int, _ keys: KeyTable) throws(CodecError) -> String {
    if carriesKeys {
      let key = inlineKey(index)
      guard let name = key.text else {
        throw CodecError(.malformed, "a key is not UTF-8", at: offset)
      }
      return name
    }
    guard let name = keys.name(of: keyID(index)) else {
      throw CodecError(.unknownName, "a key id is not in the collection's table", at: offset)
    }
    return name
  }
}
