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

/// One JSON object a line.
struct JSONLinesWriter: DocumentWriter {
  /// Whether values that JSON has no type for are written so that they come back.
  let isLossless: Bool

  func begin(_ bytes: inout [UInt8]) {}

  func write(_ fields: [TextKey: Value], to bytes: inout [UInt8]) {
    JSON.write(.map(fields), to: &bytes, options: .init(isLossless: isLossless))
    bytes.append(0x0A)
  }

  func end(_ bytes: inout [UInt8]) {}
}

/// One JSON array, an object a line.
struct JSONArrayWriter: DocumentWriter {
  let isLossless: Bool
  private var isFirst = true

  init(isLossless: Bool) { self.isLossless = isLossless }

  func begin(_ bytes: inout [UInt8]) { bytes.append(UInt8(ascii: "[")) }

  mutating func write(_ fields: [TextKey: Value], to bytes: inout [UInt8]) {
    bytes.append(contentsOf: isFirst ? [0x0A] : [UInt8(ascii: ","), 0x0A])
    isFirst = false
    JSON.write(.map(fields), to: &bytes, options: .init(isLossless: isLossless))
  }

  func end(_ bytes: inout [UInt8]) { bytes.append(contentsOf: [0x0A, UInt8(ascii: "]"), 0x0A]) }
}
