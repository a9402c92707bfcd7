import CRDTCore
import Foundation

/// A record that is no document.
struct SkippedRecord: Sendable {
  let line: Int
  /// Why: one sentence without a full stop.
  let message: String
  let bytes: [UInt8]
}

/// What becomes of records that are left out: each is told, and kept in a file where one is named.
struct SkippedRecords {
  /// As many are told one by one; the others are counted.
  static let mostTold = 20
  /// As many are in the summary for programs.
  static let mostListed = 100

  private(set) var count = 0
  /// The first of them.
  private(set) var listed: [SkippedRecord] = []
  private let name: String
  private let path: String?
  /// Opened for the first record.
  private var file: RawFile?
  /// Whether records may have line ends outside quotes, which a file of lines does not.
  private let joinsLines: Bool
  private var header: [UInt8]?
  private let appends: Bool

  /// - Parameters:
  ///   - name: What messages call the file.
  ///   - path: The file that gets the records; `nil` for none.
  ///   - appends: Whether it may be there already, and is gone on with.
  ///   - joinsLines: Whether line ends within a record become spaces: in JSON they are only between its
  ///     parts.
  /// - Throws: A `ToolError` where the file is there and nothing is gone on with.
  init(of name: String, to path: String?, appends: Bool, joinsLines: Bool) throws {
    (self.name, self.path, self.joinsLines) = (name, path, joinsLines)
    if let path, !appends, FileManager.default.fileExists(atPath: path) { throw Self.exists(path) }
    self.appends = appends
  }

  private static func exists(_ path: String) -> ToolError {
    ToolError("\(path): there is a file already, and nothing is written over")
  }

  private mutating func opened(_ path: String) throws -> RawFile {
    if let file { return file }
    let flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (appends ? 0 : O_EXCL)
    let descriptor = open(path, flags, 0o644)
    guard descriptor >= 0 else {
      throw errno == EEXIST
        ? Self.exists(path) : RawFile.failure(path, "cannot be opened for writing", errno)
    }
    let file = RawFile(descriptor, name: path, closesAtEnd: true)
    self.file = file
    if try file.status().byteCount == 0, let header { try file.write(header + [0x0A]) }
    return file
  }

  /// Keeps the record with the names of the columns, for the file.
  mutating func note(header: [UInt8]) { self.header = header }

  /// Tells of records and keeps them.
  mutating func add(_ records: [SkippedRecord]) throws {
    for record in records {
      count += 1
      if listed.count < Self.mostListed { listed.append(record) }
      if count <= Self.mostTold { Output.note("\(name), line \(record.line): \(record.message); left out") }
      guard let path else { continue }
      let file = try opened(path)
      let bytes = joinsLines ? record.bytes.map { $0 == 0x0A || $0 == 0x0D ? 0x20 : $0 } : record.bytes
      try file.write(bytes + [0x0A])
    }
  }

  /// Tells how many were not told one by one.
  func finish() {
    if count > Self.mostTold { Output.note("and \((count - Self.mostTold).groupedDigits) more") }
  }
}
