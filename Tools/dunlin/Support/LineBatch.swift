import CRDTCore

/// Lines in one piece of memory, as they are handed to a transaction.
struct LineBatch: Sendable {
  private var bytes: [UInt8] = []
  private var lines: [(number: Int, end: Int)] = []

  var count: Int { lines.count }

  mutating func append(_ line: RawSpan, number: Int) {
    line.withUnsafeBytes { bytes.append(contentsOf: $0) }
    lines.append((number, bytes.count))
  }

  func forEach(_ body: (_ number: Int, _ line: RawSpan) throws -> Void) rethrows {
    var start = 0
    for (number, end) in lines {
      try body(number, bytes.span.bytes.extracting(start..<end))
      start = end
    }
  }
}
