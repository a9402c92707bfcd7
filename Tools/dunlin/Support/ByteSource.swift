import Foundation

/// A file or standard input, read in pieces and unpacked on the way when it is gzip.
///
/// Not thread-safe; one task reads it.
final class ByteSource {
  private let file: RawFile
  private var gzip: GzipReader?
  private var hasStarted = false
  private static let pieceBytes = 256 << 10
  /// Of a packed file, since a piece may become a thousand times as much.
  private static let packedPieceBytes = 16 << 10
  /// How long to wait for a pipe before looking whether the reading is to stop.
  private static let patienceMilliseconds: Int32 = 100
  private let shouldStop: () -> Bool
  /// Bytes of the file itself read so far, for progress.
  private(set) var bytesRead = 0
  /// The file's size; `nil` for a pipe.
  let byteCount: Int?

  /// What errors call it.
  var name: String { file.name }

  /// Opens a file, or standard input for `-`.
  ///
  /// - Parameters:
  ///   - path: The file.
  ///   - shouldStop: Whether the reading is to end, asked now and then while a pipe gives nothing.
  /// - Throws: A `ToolError` that names the file.
  init(path: String, shouldStop: @escaping () -> Bool = { false }) throws {
    self.shouldStop = shouldStop
    file = path == "-" ? .input : try .open(reading: path)
    let status = try file.status()
    byteCount = status.kind == .regular ? status.byteCount : nil
  }

  /// The next piece of plain bytes; `nil` at the end, or where the reading is to stop.
  func next() throws -> [UInt8]? {
    while let raw = try nextRaw() {
      guard let gzip else { return raw }
      let plain = try gzip.unpack(raw)
      if !plain.isEmpty { return plain }
    }
    if !isStopped { try gzip?.finish() }
    return nil
  }

  private var isStopped = false

  private func nextRaw() throws -> [UInt8]? {
    guard isReadable() else {
      isStopped = true
      return nil
    }
    var raw = try file.read(upTo: gzip == nil ? Self.pieceBytes : Self.packedPieceBytes)
    if !hasStarted {
      hasStarted = true
      // A pipe may give its first bytes one by one.
      while !raw.isEmpty, raw.count < 2 {
        let more = try file.read(upTo: Self.pieceBytes)
        if more.isEmpty { break }
        raw += more
      }
      if GzipReader.recognizes(raw) { gzip = try GzipReader(name: name) }
    }
    bytesRead += raw.count
    return raw.isEmpty ? nil : raw
  }

  /// Waits until there is something to read, or the end; `false` where the reading is to stop instead.
  private func isReadable() -> Bool {
    guard byteCount == nil else { return true }
    var waited = pollfd(fd: file.descriptor, events: Int16(POLLIN), revents: 0)
    while poll(&waited, 1, Self.patienceMilliseconds) == 0 { if shouldStop() { return false } }
    return true
  }
}
