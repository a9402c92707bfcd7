import ArgumentParser

/// The formats of files with documents.
enum FileFormat: String, CaseIterable, ExpressibleByArgument {
  /// JSON Lines: one object a line.
  case jsonl
  /// One JSON array of objects.
  case json
  /// Comma-separated values (RFC 4180).
  case csv
  /// The same with tabs.
  case tsv

  /// The format that a file's name says, behind which `.gz` may stand.
  ///
  /// - Returns: `nil` where the name says none.
  init?(path: String) {
    var name = path.lowercased()[...]
    if name.hasSuffix(".gz") { name = name.dropLast(3) }
    guard let dot = name.lastIndex(of: "."), !name[dot...].contains("/") else { return nil }
    switch name[name.index(after: dot)...] {
    case "jsonl", "ndjson": self = .jsonl
    case "json": self = .json
    case "csv": self = .csv
    case "tsv", "tab": self = .tsv
    default: return nil
    }
  }

  /// What stands between two values of a record, where the format has columns.
  var delimiter: UInt8? {
    switch self {
    case .jsonl, .json: nil
    case .csv: UInt8(ascii: ",")
    case .tsv: UInt8(ascii: "\t")
    }
  }
}

/// A character between the values of a record, as an argument.
struct Delimiter: ExpressibleByArgument {
  let byte: UInt8

  init?(argument: String) {
    let text = argument == "\\t" ? "\t" : argument
    guard text.utf8.count == 1, let byte = text.utf8.first, byte == 0x09 || (0x20..<0x7F).contains(byte),
      byte != UInt8(ascii: "\"")
    else { return nil }
    self.byte = byte
  }
}
