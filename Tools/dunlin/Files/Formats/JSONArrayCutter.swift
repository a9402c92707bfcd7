import CRDTCore

/// Cuts a JSON array into the texts of its elements.
///
/// It follows brackets and strings only. The parser reads the elements, so one wrong element does not end the
/// reading of the others.
struct JSONArrayCutter: RecordCutter {
  private enum Place {
    case beforeArray
    /// Behind the opening bracket: an element or the end may come.
    case beforeFirst
    case beforeElement
    case inElement
    case behindArray
  }

  private(set) var lineNumber = 1
  private let maximumBytes: Int
  private var place = Place.beforeArray
  /// Bytes of a byte order mark that have come.
  private var markCount = 0
  private var (depth, isInString, isEscaped) = (0, false, false)
  private var startLine = 1
  /// What has come of an element in former chunks.
  private var pending: [UInt8] = []

  private static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]

  /// - Parameter maximumBytes: A longer element is refused.
  init(maximumBytes: Int = Limits.recordBytes) { self.maximumBytes = maximumBytes }

  mutating func append(_ chunk: RawSpan, _ body: (Int, RawSpan) throws -> Void) throws {
    var start = 0
    for offset in 0..<chunk.byteCount {
      let byte = chunk[offset]
      if place == .inElement {
        if try endsElement(byte) {
          try hand(chunk.extracting(start..<offset), body)
          place = byte == UInt8(ascii: ",") ? .beforeElement : .behindArray
        }
      } else if byte > 0x20 || ![0x20, 0x09, 0x0A, 0x0D].contains(byte) {
        try begin(byte, body)
        if place == .inElement { start = offset }
      }
      if byte == 0x0A { lineNumber += 1 }
    }
    if place == .inElement { try keep(chunk.extracting(start..<chunk.byteCount)) }
  }

  func finish(_ body: (Int, RawSpan) throws -> Void) throws {
    switch place {
    case .behindArray: return
    case .inElement:
      throw CuttingError(
        line: startLine, message: "the text ends within the element of the array that begins here")
    case .beforeArray, .beforeFirst, .beforeElement:
      throw CuttingError(line: lineNumber, message: "the text ends before the array does")
    }
  }

  /// Takes a byte between elements that is no space.
  private mutating func begin(_ byte: UInt8, _ body: (Int, RawSpan) throws -> Void) throws {
    switch place {
    case .beforeArray:
      if markCount < 3, byte == Self.mark[markCount], lineNumber == 1 {
        markCount += 1
        return
      }
      guard byte == UInt8(ascii: "[") else {
        throw CuttingError(line: lineNumber, message: "expected an array of documents: [")
      }
      place = .beforeFirst
    case .beforeFirst where byte == UInt8(ascii: "]"): place = .behindArray
    case .beforeFirst, .beforeElement:
      startLine = lineNumber
      place = .inElement
      (depth, isInString, isEscaped) = (0, false, false)
      // An element of nothing, between two commas.
      if try endsElement(byte) {
        let nothing: [UInt8] = []
        try hand(nothing.span.bytes, body)
        place = byte == UInt8(ascii: ",") ? .beforeElement : .behindArray
      }
    case .behindArray:
      throw CuttingError(line: lineNumber, message: "expected the end of the text behind the array")
    case .inElement: preconditionFailure("An element takes its bytes itself")
    }
  }

  /// Takes a byte of an element; `true` where it stands behind it.
  private mutating func endsElement(_ byte: UInt8) throws -> Bool {
    if isInString {
      if isEscaped {
        isEscaped = false
      } else if byte == UInt8(ascii: "\\") {
        isEscaped = true
      } else if byte == UInt8(ascii: "\"") {
        isInString = false
      }
      return false
    }
    switch byte {
    case UInt8(ascii: "\""): isInString = true
    case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
    case UInt8(ascii: "]") where depth == 0: return true
    case UInt8(ascii: ",") where depth == 0: return true
    case UInt8(ascii: "}"), UInt8(ascii: "]"): depth = max(0, depth - 1)
    default: break
    }
    return false
  }

  private mutating func keep(_ part: RawSpan) throws {
    guard pending.count + part.byteCount <= maximumBytes else {
      throw CuttingError(
        line: startLine,
        message: "the element that begins here has more than \(maximumBytes.groupedDigits) bytes")
    }
    part.withUnsafeBytes { pending.append(contentsOf: $0) }
  }

  private mutating func hand(_ part: RawSpan, _ body: (Int, RawSpan) throws -> Void) throws {
    if pending.isEmpty, part.byteCount <= maximumBytes { return try body(startLine, part) }
    try keep(part)
    let whole = pending
    pending.removeAll(keepingCapacity: true)
    try body(startLine, whole.span.bytes)
  }
}
