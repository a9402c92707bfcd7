import CRDTCore

/// Writes documents in a format.
protocol DocumentWriter {
  /// Appends what stands before the documents.
  mutating func begin(_ bytes: inout [UInt8])
  /// Appends a document.
  mutating func write(_ fields: [TextKey: Value], to bytes: inout [UInt8])
  /// Appends what stands behind them.
  mutating func end(_ bytes: inout [UInt8])
}

/// Writes each document as a JSON object.
protocol JSONDocumentWriter: DocumentWriter {
  /// Whether values that JSON has no type for are written so that they come back.
  var isLossless: Bool { get }

  /// Appends a document, whose object a closure appends.
  mutating func write(
    to bytes: inout [UInt8], object: (inout [UInt8], JSON.WriteOptions) throws -> Void
  ) rethrows
}

extension JSONDocumentWriter {
  var options: JSON.WriteOptions { .init(isLossless: isLossless) }

  mutating func write(_ fields: [TextKey: Value], to bytes: inout [UInt8]) {
    write(to: &bytes) { JSON.write(.map(fields), to: &$0, options: $1) }
  }
}

/// One JSON object a line.
struct JSONLinesWriter: JSONDocumentWriter {
  let isLossless: Bool

  func begin(_ bytes: inout [UInt8]) {}

  func write(
    to bytes: inout [UInt8], object: (inout [UInt8], JSON.WriteOptions) throws -> Void
  ) rethrows {
    try object(&bytes, options)
    bytes.append(0x0A)
  }

  func end(_ bytes: inout [UInt8]) {}
}

/// One JSON array, an object a line.
struct JSONArrayWriter: JSONDocumentWriter {
  let isLossless: Bool
  private var isFirst = true

  init(isLossless: Bool) { self.isLossless = isLossless }

  func begin(_ bytes: inout [UInt8]) { bytes.append(UInt8(ascii: "[")) }

  mutating func write(
    to bytes: inout [UInt8], object: (inout [UInt8], JSON.WriteOptions) throws -> Void
  ) rethrows {
    bytes.append(contentsOf: isFirst ? [0x0A] : [UInt8(ascii: ","), 0x0A])
    isFirst = false
    try object(&bytes, options)
  }

  func end(_ bytes: inout [UInt8]) { bytes.append(contentsOf: [0x0A, UInt8(ascii: "]"), 0x0A]) }
}
