import CRDTCore

/// A table of a module above: keys and values of its own, in the store's transactions.
///
/// It is never synced. Backups and compaction take it along, and verification reads it. There are two kinds:
///
/// - Most stand in one table of the engine's, `side`, which is made when something is first written: a store without any is
///   as it was before. A rescue takes them along.
/// - A *working table* has a table of the engine's to itself, so that its entries and pages are counted at no cost. A rescue
///   leaves it out: what stands there can be made anew.
package struct SideTable: Hashable, Sendable {
  /// Bytes of a name.
  package static let nameBytes = 32
  /// Bytes of a key at most; a key of a working table has one at least.
  package static let keyBytes = 384
  /// Bytes of a value at most.
  package static let valueBytes = 16 << 20

  /// The engine's table that it stands in.
  let engineTable: StoreTable
  /// What its keys begin with in the file: the length of the name, and the name; nothing in a working table.
  let prefix: [UInt8]

  /// Names a table; who uses it decides, and no other module uses the name.
  ///
  /// - Parameter name: 1 to 32 small letters, digits, full stops and hyphens of ASCII, as in `http.keys`.
  package init(_ name: String) {
    precondition(Self.isName(Array(name.utf8)[...]), "\(name) cannot be the name of a side table")
    engineTable = .side
    prefix = [UInt8(name.utf8.count)] + Array(name.utf8)
  }

  /// The working table of a name.
  ///
  /// - Parameter name: One of those that the file format has.
  package init(working name: String) {
    guard let table = StoreTable.working.first(where: { $0.name.isSame(as: name) }) else {
      preconditionFailure("\(name) is no working table")
    }
    engineTable = table
    prefix = []
  }

  var isWorking: Bool { engineTable != .side }

  package var name: String {
    isWorking ? engineTable.name : String(decoding: prefix.dropFirst(), as: UTF8.self)
  }

  private static func isName(_ bytes: ArraySlice<UInt8>) -> Bool {
    (1...nameBytes).contains(bytes.count)
      && bytes.allSatisfy { byte in
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
          || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: ".")
          || byte == UInt8(ascii: "-")
      }
  }

  /// A key as it stands in the file.
  ///
  /// - Throws: `limit` for one that is too long.
  func stored(_ key: [UInt8], _ operation: String) throws(StoreError) -> [UInt8] {
    guard key.count <= Self.keyBytes else {
      throw StoreError(
        .limit, "A key of the side table \(name) has \(key.count) bytes, and \(Self.keyBytes) are allowed",
        operation: operation)
    }
    return prefix + key
  }

  /// The key of an entry in the file; `nil` for one of another table.
  func key(_ stored: RawSpan) -> [UInt8]? {
    guard stored.byteCount >= prefix.count,
      stored.extracting(0..<prefix.count).isEqual(to: prefix.rawBytes)
    else { return nil }
    return stored.extracting(prefix.count..<stored.byteCount).copied
  }

  /// Whether a key in the file is that of some side table.
  static func isKey(_ stored: RawSpan) -> Bool {
    let bytes = stored.copied
    guard let count = bytes.first, count > 0, bytes.count > count, bytes.count <= 1 + Int(count) + keyBytes
    else { return false }
    return isName(bytes[1...Int(count)])
  }
}

extension SideTable: CustomStringConvertible {
  package var description: String { name }
}
