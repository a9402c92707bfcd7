/// One value of a record as it stands in a file.
struct SeparatedCell: Hashable, Sendable {
  var text: String
  /// Whether it stands in quotes: then it is text, and may be empty.
  var isQuoted = false

  /// Whether there is no value.
  var isMissing: Bool { text.isEmpty && !isQuoted }
}

/// Records of separated values, as RFC 4180 has them.
enum SeparatedRecord {
  /// A record that is not well formed.
  struct Malformed: Error, Hashable {
    /// What is wrong, with the column: one sentence without a full stop.
    let message: String
  }

  /// The values of a record.
  ///
  /// - Throws: ``Malformed`` for quotes in the wrong place, a carriage return outside quotes, or text that is
  ///   not UTF-8.
  static func cells(_ record: RawSpan, delimiter: UInt8) throws(Malformed) -> [SeparatedCell] {
    var cells: [SeparatedCell] = []
    var offset = 0
    while true {
      cells.append(try cell(record, &offset, delimiter, column: cells.count + 1))
      guard offset < record.byteCount else { return cells }
      offset += 1
    }
  }

  /// The character that separates the columns of a header, where it is another one than it should be.
  ///
  /// - Parameters:
  ///   - header: The bytes of the header.
  ///   - delimiter: The character that should separate its columns.
  /// - Returns: A character that often separates columns; `nil` for a header with the delimiter outside
  ///   quotes, and for one without any such character.
  static func separator(of header: RawSpan, insteadOf delimiter: UInt8) -> UInt8? {
    var isQuoted = false
    var found: UInt8?
    for offset in 0..<header.byteCount {
      let byte = header[offset]
      if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
      guard !isQuoted else { continue }
      if byte == delimiter { return nil }
      if found == nil, separators.contains(byte) { found = byte }
    }
    return found
  }

  private static let separators = [
    UInt8(ascii: "\t"), UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "|"),
  ]

  /// Reads the value at `offset`, and goes on to what stands behind it: a delimiter, or the end.
  private static func cell(
    _ record: RawSpan, _ offset: inout Int, _ delimiter: UInt8, column: Int
  ) throws(Malformed) -> SeparatedCell {
    let quote = UInt8(ascii: "\"")
    var bytes: [UInt8] = []
    let isQuoted = offset < record.byteCount && record[offset] == quote
    if isQuoted {
      offset += 1
      while true {
        guard offset < record.byteCount else {
          throw Malformed(message: "column \(column): the quotes that open here are not closed")
        }
        let byte = record[offset]
        offset += 1
        guard byte == quote else {
          bytes.append(byte)
          continue
        }
        guard offset < record.byteCount, record[offset] == quote else { break }
        bytes.append(quote)
        offset += 1
      }
      guard offset == record.byteCount || record[offset] == delimiter else {
        throw Malformed(message: "column \(column): something stands behind the closing quote")
      }
    } else {
      while offset < record.byteCount, record[offset] != delimiter {
        let byte = record[offset]
        guard byte != quote else {
          throw Malformed(message: "column \(column): a quote stands in a value without quotes")
        }
        guard byte != 0x0D else {
          throw Malformed(message: "column \(column): a carriage return stands in a value without quotes")
        }
        bytes.append(byte)
        offset += 1
      }
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw Malformed(message: "column \(column): the text is no UTF-8")
    }
    return SeparatedCell(text: text, isQuoted: isQuoted)
  }

  /// Appends a record with its line end, quoted where it must be.
  static func write(_ cells: some Sequence<SeparatedCell>, delimiter: UInt8, to bytes: inout [UInt8]) {
    var isFirst = true
    for cell in cells {
      if !isFirst { bytes.append(delimiter) }
      isFirst = false
      guard cell.isQuoted || needsQuotes(cell.text, delimiter) else {
        bytes.append(contentsOf: cell.text.utf8)
        continue
      }
      bytes.append(UInt8(ascii: "\""))
      for byte in cell.text.utf8 {
        if byte == UInt8(ascii: "\"") { bytes.append(byte) }
        bytes.append(byte)
      }
      bytes.append(UInt8(ascii: "\""))
    }
    bytes.append(contentsOf: [0x0D, 0x0A])
  }

  private static func needsQuotes(_ text: String, _ delimiter: UInt8) -> Bool {
    // A byte order mark would be taken for one where it stands first.
    text.unicodeScalars.first == "\u{FEFF}"
      || text.utf8.contains { $0 == delimiter || $0 == UInt8(ascii: "\"") || $0 == 0x0A || $0 == 0x0D }
  }
}
