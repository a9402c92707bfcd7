import CRDTCore
import Foundation

/// Changes to a closed store's data file.
enum FileDamage {
  /// Replaces every occurrence of `old` by `new`, of the same length, and returns how many there were.
  @discardableResult
  static func replace(_ old: [UInt8], by new: [UInt8], at path: String) throws -> Int {
    let url = URL(fileURLWithPath: path)
    var data = try Data(contentsOf: url)
    var count = 0
    var start = data.startIndex
    while let range = data.range(of: Data(old), in: start..<data.endIndex) {
      data.replaceSubrange(range, with: new)
      start = range.upperBound
      count += 1
    }
    // Written over in place: the store's lock is on another file.
    let handle = try FileHandle(forWritingTo: url)
    try handle.write(contentsOf: data)
    try handle.close()
    return count
  }

  /// Replaces one byte, also of an open store's file.
  static func put(_ byte: UInt8, at offset: Int, in path: String) throws {
    let handle = try FileHandle(forUpdating: URL(fileURLWithPath: path))
    try handle.seek(toOffset: UInt64(offset))
    try handle.write(contentsOf: Data([byte]))
    try handle.close()
  }
}

/// The format number in a store's file.
enum Format {
  static func set(_ version: UInt32, at path: String) throws {
    try FileDamage.replace(entry(5), by: entry(version), at: path)
  }

  /// Key, value and check, as they lie side by side on the page.
  private static func entry(_ version: UInt32) -> [UInt8] {
    let key = Array("format".utf8)
    var value = ByteWriter()
    value.writeFixed(version)
    let lanes = HashLanes(value.bytes.span.bytes, seed: HashLanes(key.span.bytes).first)
    var out = ByteWriter()
    out.write(key)
    out.write(value.bytes)
    out.writeFixed(UInt32(truncatingIfNeeded: lanes.first ^ (lanes.second >> 32)))
    return out.bytes
  }
}
