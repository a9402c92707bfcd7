import CRDTCore

/// Records of a file in one piece of memory.
struct RecordList: Sendable {
  private var bytes: [UInt8] = []
  private var ends: [(line: Int, end: Int)] = []

  var count: Int { ends.count }
  var byteCount: Int { bytes.count }

  mutating func append(_ record: RawSpan, line: Int) {
    record.withUnsafeBytes { bytes.append(contentsOf: $0) }
    ends.append((line, bytes.count))
  }

  mutating func append(_ record: [UInt8], line: Int) {
    bytes.append(contentsOf: record)
    ends.append((line, bytes.count))
  }

  /// Calls `body` with each record, and its place in the list.
  func forEach(_ body: (_ index: Int, _ line: Int, _ record: RawSpan) throws -> Void) rethrows {
    var start = 0
    for (index, (line, end)) in ends.enumerated() {
      try body(index, line, bytes.span.bytes.extracting(start..<end))
      start = end
    }
  }

  /// The line that a record begins in.
  func line(of index: Int) -> Int { ends[index].line }

  /// A copy of one record.
  subscript(index: Int) -> [UInt8] { Array(bytes[(index == 0 ? 0 : ends[index - 1].end)..<ends[index].end]) }
}
