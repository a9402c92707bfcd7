import CRDTCore

/// Cuts a file of separated values into records, at line ends outside quotes (RFC 4180, §2).
///
/// Lines end in LF or CRLF. Blank lines are no records. ``SeparatedRecord`` reads the contents of a record.
struct SeparatedCutter: RecordCutter {
  private enum Place {
    case fieldStart
    case plain
    case quoted
    /// Behind a quote within quotes, which may be the first of two.
    case behindQuote
  }

  private(set) var lineNumber = 1
  private let delimiter: UInt8
  private let maximumBytes: Int
  private var place = Place.fieldStart
  private var startLine = 1
  /// What has come of a record in former chunks.
  private var pending: [UInt8] = []
  /// Bytes of a byte order mark that have come; `nil` when none can follow.
  private var markCount: Int? = 0

  private static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]

  /// - Parameters:
  ///   - delimiter: What stands between two values.
  ///   - maximumBytes: A longer record is refused.
  init(delimiter: UInt8, maximumBytes: Int = Limits.recordBytes) {
    (self.delimiter, self.maximumBytes) = (delimiter, maximumBytes)
  }

  mutating func append(_ chunk: RawSpan, _ body: (Int, RawSpan) throws -> Void) throws {
    var start = skipMark(chunk)
    for offset in start..<chunk.byteCount {
      let byte = chunk[offset]
      if byte == 0x0A {
        lineNumber += 1
        guard place != .quoted else { continue }
        try hand(chunk.extracting(start..<offset), body)
        start = offset + 1
        continue
      }
      switch place {
      case .fieldStart where byte == UInt8(ascii: "\""): place = .quoted
      case .quoted: if byte == UInt8(ascii: "\"") { place = .behindQuote }
      case .behindQuote where byte == UInt8(ascii: "\""): place = .quoted
      case .fieldStart, .plain, .behindQuote: place = byte == delimiter ? .fieldStart : .plain
      }
    }
    try keep(chunk.extracting(start..<chunk.byteCount))
  }

  mutating func finish(_ body: (Int, RawSpan) throws -> Void) throws {
    let nothing: [UInt8] = []
    try hand(nothing.span.bytes, body)
  }

  /// Leaves out a byte order mark at the start of the stream, in whatever pieces it comes.
  ///
  /// - Returns: Where the rest of the chunk begins.
  private mutating func skipMark(_ chunk: RawSpan) -> Int {
    guard var count = markCount else { return 0 }
    var offset = 0
    while count < 3, offset < chunk.byteCount, chunk[offset] == Self.mark[count] {
      (count, offset) = (count + 1, offset + 1)
    }
    let mayFollow = count < 3 && offset == chunk.byteCount
    markCount = mayFollow ? count : nil
    if !mayFollow, count < 3, count > 0 {
      // They were the first bytes of another character.
      pending = Array(Self.mark[..<count])
      place = .plain
    }
    return offset
  }

  private mutating func keep(_ part: RawSpan) throws {
    guard pending.count + part.byteCount <= maximumBytes else {
      throw CuttingError(
        line: startLine,
        message: "the record that begins here has more than \(maximumBytes.groupedDigits) bytes")
    }
    part.withUnsafeBytes { pending.append(contentsOf: $0) }
  }

  private mutating func hand(_ part: RawSpan, _ body: (Int, RawSpan) throws -> Void) throws {
    let line = startLine
    (startLine, place) = (lineNumber, .fieldStart)
    func handOut(_ record: RawSpan) throws {
      let count = record.byteCount
      let end = count > 0 && record[count - 1] == 0x0D ? count - 1 : count
      if end > 0 { try body(line, record.extracting(0..<end)) }
    }
    if pending.isEmpty, part.byteCount <= maximumBytes { return try handOut(part) }
    try keep(part)
    let whole = pending
    pending.removeAll(keepingCapacity: true)
    try handOut(whole.span.bytes)
  }
}
