import CRDTCore

/// Cuts a stream of bytes into the records of a file, without holding more than one.
protocol RecordCutter {
  /// The line that is next, from 1.
  var lineNumber: Int { get }

  /// Takes the stream's next bytes, and passes on each record that they complete, with the line it begins in.
  ///
  /// What `body` throws ends the call; the rest of the chunk is lost then.
  mutating func append(_ chunk: RawSpan, _ body: (_ line: Int, _ record: RawSpan) throws -> Void) throws

  /// Ends the stream, and hands out the last record where nothing followed it.
  mutating func finish(_ body: (_ line: Int, _ record: RawSpan) throws -> Void) throws
}

extension JSONLines: RecordCutter {}

/// A file that cannot be cut into records any further.
struct CuttingError: Error {
  let line: Int
  /// What is wrong: one sentence without a full stop.
  let message: String
}

extension RawSpan {
  /// The byte at an offset inside the span.
  subscript(offset: Int) -> UInt8 {
    // SAFETY: every bit pattern is a UInt8, and the load checks its bounds.
    unsafeLoad(fromByteOffset: offset, as: UInt8.self)
  }

  /// A copy of the bytes.
  var array: [UInt8] { withUnsafeBytes { Array($0) } }
}
