/// Splits a stream of bytes into lines of one JSON text each (JSON Lines), and holds at most one line.
public struct JSONLines: Sendable {
  /// The number of the next line, from 1; blank lines count.
  public private(set) var lineNumber = 1
  private let maximumLineBytes: Int
  /// The beginning of a line whose end has not arrived yet.
  private var pending: [UInt8] = []

  /// Makes a splitter for a new stream.
  ///
  /// - Parameter maximumLineBytes: A longer line is refused, so that a stream without line ends cannot use
  ///   up all memory.
  public init(maximumLineBytes: Int = Limits.recordBytes) { self.maximumLineBytes = maximumLineBytes }

  /// Processes the stream's next chunk and passes on the lines that it completes, without their line ends.
  ///
  /// - Parameters:
  ///   - chunk: Any number of bytes; a line may span several chunks.
  ///   - body: Is called with each line that is not blank, and its number. An error that it throws ends the
  ///     call; the rest of the chunk is then lost.
  /// - Throws: A ``JSONError`` for a line that is too long, or what `body` throws.
  public mutating func append(_ chunk: RawSpan, _ body: (_ number: Int, _ line: RawSpan) throws -> Void)
    throws
  {
    var rest = chunk
    while let end = Self.lineFeed(in: rest) {
      try take(rest.extracting(..<end), body)
      rest = rest.extracting((end + 1)...)
    }
    try keep(rest)
  }

  /// Ends the stream: passes on the last line if no line end followed it.
  ///
  /// - Parameter body: As for ``append(_:_:)``.
  /// - Throws: What `body` throws.
  public mutating func finish(_ body: (_ number: Int, _ line: RawSpan) throws -> Void) throws {
    let nothing: [UInt8] = []
    try take(nothing.span.bytes, body)
  }

  private mutating func take(_ line: RawSpan, _ body: (Int, RawSpan) throws -> Void) throws {
    defer { lineNumber += 1 }
    if pending.isEmpty {
      guard line.byteCount <= maximumLineBytes else { throw tooLong }
      if !Self.isBlank(line) { try body(lineNumber, line) }
    } else {
      try keep(line)
      let whole = pending
      pending.removeAll(keepingCapacity: true)
      if !Self.isBlank(whole.span.bytes) { try body(lineNumber, whole.span.bytes) }
    }
  }

  private mutating func keep(_ piece: RawSpan) throws(JSONError) {
    guard pending.count + piece.byteCount <= maximumLineBytes else { throw tooLong }
    // SAFETY: the bytes are copied during the call.
    unsafe piece.withUnsafeBytes { unsafe pending.append(contentsOf: $0) }
  }

  private var tooLong: JSONError {
    JSONError(.lineLength, "expected a line of at most \(maximumLineBytes) bytes", at: maximumLineBytes)
  }

  private static func isBlank(_ line: RawSpan) -> Bool {
    for index in 0..<line.byteCount {
      // SAFETY: every bit pattern is a UInt8, and the load checks its bounds.
      switch unsafe line.unsafeLoad(fromByteOffset: index, as: UInt8.self) {
      case 0x20, 0x09, 0x0D: continue
      default: return false
      }
    }
    return true
  }

  /// Returns the offset of the first line feed, and searches eight bytes at a time.
  private static func lineFeed(in bytes: RawSpan) -> Int? {
    let ones: UInt64 = 0x0101_0101_0101_0101
    var index = 0
    while bytes.byteCount - index >= 8 {
      // SAFETY: every bit pattern is a UInt64, and the load checks its bounds.
      let word = unsafe bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self)
      let feeds = UInt64(littleEndian: word) ^ (ones &* 0x0A)
      // The lowest bit set is that of the first zero byte (Hacker's Delight, §6-1).
      let zeros = (feeds &- ones) & ~feeds & (ones &* 0x80)
      if zeros != 0 { return index + zeros.trailingZeroBitCount / 8 }
      index += 8
    }
    while index < bytes.byteCount {
      // SAFETY: as above, for one byte.
      if unsafe bytes.unsafeLoad(fromByteOffset: index, as: UInt8.self) == 0x0A { return index }
      index += 1
    }
    return nil
  }
}
