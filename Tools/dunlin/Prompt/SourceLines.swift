/// The lines of a script, each as soon as it is there.
struct SourceLines {
  private let source: ByteSource
  private var buffer: [UInt8] = []
  /// Bytes at the beginning of the buffer that have been handed out.
  private var start = 0

  init(_ source: ByteSource) { self.source = source }

  /// The next line without its end; `nil` behind the last one.
  ///
  /// - Throws: A `ToolError` that names the file.
  mutating func next() throws -> String? {
    var scanned = start
    while true {
      if let end = buffer[scanned...].firstIndex(of: 0x0A) { return take(upTo: end) }
      buffer.removeFirst(start)
      (start, scanned) = (0, buffer.count)
      guard let piece = try source.next() else { return buffer.isEmpty ? nil : take(upTo: buffer.count) }
      buffer += piece
    }
  }

  private mutating func take(upTo end: Int) -> String {
    let line = buffer[start..<end]
    start = min(end + 1, buffer.count)
    return String(decoding: line.last == 0x0D ? line.dropLast() : line, as: UTF8.self)
  }
}
