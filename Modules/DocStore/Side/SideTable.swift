import CRDTCore

/// A table for a module above the store: its own keys and values, in the store's transactions.
///
/// It is never synced. Backups and compaction include it, and verification reads it. There are two kinds:
///
/// - Most are stored in one table of the engine, `side`, which is created when something is first written: a
///   store without any does not have that table. A rescue copies them.
/// - A *working table* has an engine table to itself, so that its entries and pages can be counted at no
///   cost. A rescue leaves it out, because its contents can be computed again.
package struct SideTable: Hashable, Sendable {
  /// The maximum length of a name in bytes.
  package static let nameBytes = 32
  /// The maximum length of a key in bytes; a key of a working table has at least one byte.
  package static let keyBytes = 384
  /// The maximum length of a value in bytes.
  package static let valueBytes = 16 << 20

  /// The engine table in which it is stored.
  let engineTable: StoreTable
  /// The prefix of its keys in the file: the length of the name, and the name; empty for a working table.
  let prefix: [UInt8]

  /// Names a table; the module that uses the name decides, and no other module uses it.
  ///
  /// - Parameter name: 1 to 32 small letters, digits, full stops and hyphens of ASCII, as in `http.keys`.
  package init(_ name: String) {
    precondition(Self.isName(Array(name.utf8)[...]), "\(name) cannot be the name of a side table")
    engineTable = .side
    prefix = [UInt8(name.utf8.count)] + Array(name.utf8)
  }

  /// The working table with a name.
  ///
  /// - Parameter name: One of the names in the file format.
  package init(working name: String) {
    guard let table = StoreTable.working.first(where: { $0.name.isSame(as: name) }) else {
      preconditionFailure("\(name) is no working table")
    }
    engineTable = table
    prefix = []
  }

  /// The table with a name that was read from the file; `nil` if that cannot be a name.
  init?(stored name: ArraySlice<UInt8>) {
    guard Self.isName(name) else { return nil }
    engineTable = .side
    prefix = [UInt8(name.count)] + name
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

  /// A key as it is stored in the file.
  ///
  /// - Throws: `limit` for a key that is too long.
  func stored(_ key: [UInt8], _ operation: String) throws(StoreError) -> [UInt8] {
    guard key.count <= Self.keyBytes else {
      throw StoreError(
        .limit, "A key of the side table \(name) has \(key.count) bytes, and \(Self.keyBytes) are allowed",
        operation: operation)
    }
    return prefix + key
  }

  /// The key of an entry in the file; `nil` for an entry of another table.
  func key(_ stored: RawSpan) -> [UInt8]? {
    guard stored.byteCount >= prefix.count,
      stored.extracting(0..<prefix.count).isEqual(to: prefix.rawBytes)
    else { return nil }
    return stored.extracting(prefix.count..<stored.byteCount).copied
  }

  /// Whether a key in the file belongs to any side table.
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
