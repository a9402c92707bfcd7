import CRDTCore
import Foundation

/// How far an import has come, kept in a file so that one that was stopped can go on.
///
/// It is written after the batches that it counts, and may be older than they are. A record that is written
/// twice then has the same id, so that every document is there once.
struct ImportState: Equatable {
  /// A place between two records.
  struct Position: Equatable, Sendable {
    /// Records of the file before it, without the header.
    var records = 0
    /// Documents that were written.
    var stored = 0
    /// Records that were left out, being bad.
    var skipped = 0
    /// The line of the record before it.
    var line = 0
    /// Of all the records' bytes, and the header's.
    var fingerprint = HashLanes(0, 0)

    /// Takes a record's bytes in.
    mutating func add(_ record: RawSpan) { fingerprint = fingerprint.combined(with: HashLanes(record)) }
  }

  /// The file's absolute path.
  var file: String
  var collection: String
  /// What the documents depend on: the options of the reading and the rule of the ids.
  var options: String
  var ids: RecordIDs
  var position: Position

  private static let version: Int64 = 1

  /// Where the state of an import is kept, beside what it tells of.
  static func path(store: String, file: String, collection: String) -> String {
    let key = HashLanes("\(file)\u{0}\(collection)")
    return "\(store)/import-\(hex(key.first)).json"
  }

  /// Reads a state.
  ///
  /// - Returns: `nil` where there is none.
  /// - Throws: A `ToolError` that names the file where it cannot be read.
  static func read(_ path: String) throws -> ImportState? {
    guard FileManager.default.fileExists(atPath: path) else { return nil }
    guard let text = try? TextFile.read(path), case .map(let fields)? = try? JSON.parse(text),
      let state = ImportState(fields)
    else {
      throw ToolError("\(path): this is no state of an import that can be read; --restart begins again")
    }
    return state
  }

  /// Writes the state in place of what is there.
  func write(_ path: String) throws {
    let sink = try ByteSink(path: path, replaces: true)
    try sink.write(Array((JSON.text(of: .map(values)) + "\n").utf8))
    try sink.close()
  }

  static func remove(_ path: String) throws {
    guard unlink(path) == 0 || errno == ENOENT else {
      throw RawFile.failure(path, "cannot be removed", errno)
    }
  }

  private static func hex(_ number: UInt64) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}

extension ImportState {
  private var values: [TextKey: Value] {
    [
      "version": .int(Self.version), "file": .string(file), "collection": .string(collection),
      "options": .string(options), "ids": .string(ids.prefix), "records": .int(Int64(position.records)),
      "stored": .int(Int64(position.stored)), "skipped": .int(Int64(position.skipped)),
      "line": .int(Int64(position.line)),
      "fingerprint": .string(Self.hex(position.fingerprint.first) + Self.hex(position.fingerprint.second)),
    ]
  }

  private init?(_ fields: [TextKey: Value]) {
    func text(_ key: TextKey) -> String? { if case .string(let text)? = fields[key] { text } else { nil } }
    func number(_ key: TextKey) -> Int? {
      guard case .int(let number)? = fields[key], number >= 0 else { return nil }
      return Int(exactly: number)
    }
    guard fields["version"] == .int(Self.version), let file = text("file"),
      let collection = text("collection"),
      let options = text("options"), let ids = text("ids").flatMap(RecordIDs.init(prefix:)),
      let records = number("records"), let stored = number("stored"), let skipped = number("skipped"),
      let line = number("line"), let digits = text("fingerprint"), digits.utf8.count == 32,
      let first = UInt64(digits.prefix(16), radix: 16), let second = UInt64(digits.suffix(16), radix: 16)
    else { return nil }
    self.init(
      file: file, collection: collection, options: options, ids: ids,
      position: Position(
        records: records, stored: stored, skipped: skipped, line: line,
        fingerprint: HashLanes(first, second)))
  }
}
