import CLMDB
import CRDTCore

/// Values of the small tables: each ends in four bytes that detect damage.
///
/// They also detect a value that is stored under another's key.
enum SmallRecord {
  static let checkBytes = 4

  static func put(_ value: [UInt8], at key: [UInt8], in table: MDB_dbi, _ access: PageAccess)
    throws(StoreError)
  {
    let check = check(value.rawBytes, key.rawBytes)
    try unsafe access.put(table, key.rawBytes, byteCount: value.count + checkBytes) { room in
      unsafe room.copyBytes(from: value)
      unsafe room.storeBytes(of: check.bigEndian, toByteOffset: value.count, as: UInt32.self)
    }
  }

  /// Stores a value at the end of its table; its key must be the greatest.
  static func append(_ value: [UInt8], at key: [UInt8], in table: MDB_dbi, _ access: PageAccess)
    throws(StoreError)
  {
    let check = check(value.rawBytes, key.rawBytes)
    let isLast = try unsafe access.put(
      table, key.rawBytes, byteCount: value.count + checkBytes, .behindAll
    ) { room in
      unsafe room.copyBytes(from: value)
      unsafe room.storeBytes(of: check.bigEndian, toByteOffset: value.count, as: UInt32.self)
    }
    if !isLast { try put(value, at: key, in: table, access) }
  }

  /// The value under a key; throws an error that names the table if the value is damaged.
  static func open(_ stored: RawSpan, at key: RawSpan, table: String) throws(StoreError) -> [UInt8] {
    let count = stored.byteCount - checkBytes
    guard count >= 0 else { throw damaged(table) }
    let value = stored.extracting(0..<count)
    let found = UInt32(bigEndian: unsafe stored.unsafeLoadUnaligned(fromByteOffset: count, as: UInt32.self))
    guard found == check(value, key) else { throw damaged(table) }
    return unsafe value.withUnsafeBytes { unsafe Array($0) }
  }

  /// Whether the value under a key ends in its check.
  static func isIntact(_ stored: RawSpan, at key: RawSpan) -> Bool {
    let count = stored.byteCount - checkBytes
    guard count >= 0 else { return false }
    let found = UInt32(bigEndian: unsafe stored.unsafeLoadUnaligned(fromByteOffset: count, as: UInt32.self))
    return found == check(stored.extracting(0..<count), key)
  }

  static func damaged(_ table: String) -> StoreError {
    StoreError(.corrupt, "An entry of the table \(table) is damaged", operation: "read")
  }

  static func check(_ value: RawSpan, _ key: RawSpan) -> UInt32 {
    let lanes = HashLanes(value, seed: HashLanes(key).first)
    return UInt32(truncatingIfNeeded: lanes.first ^ (lanes.second >> 32))
  }
}
