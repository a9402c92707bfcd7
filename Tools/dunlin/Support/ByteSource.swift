// On Linux `stat` may come from there.
import CoreFoundation
import Foundation

/// A file or standard input, read in pieces and unpacked on the way when it is gzip.
///
/// Not thread-safe; one task reads it.
final class ByteSource {
  private let file: RawFile
  private var gzip: GzipReader?
  private var hasStarted = false
  private static let pieceBytes = 256 << 10
  /// Bytes of the file itself read so far, for progress.
  private(set) var bytesRead = 0
  /// The file's size; `nil` for a pipe.
  let byteCount: Int?

  /// What errors call it.
  var name: String { file.name }

  /// Opens a file, or standard input for `-`.
  init(path: String) throws {
    file = path == "-" ? .input : try .open(reading: path)
    let status = try file.status()
    byteCount = status.st_mode & S_IFMT == S_IFREG ? Int(status.st_size) : nil
  }

  /// The next piece of plain bytes; `nil` at the end.
  func next() throws -> [UInt8]? {
    while let raw = try nextRaw() {
      guard let gzip else { return raw }
      let plain = try gzip.unpack(raw)
      if !plain.isEmpty { return plain }
    }
    try gzip?.finish()
    return nil
  }

  private func nextRaw() throws -> [UInt8]? {
    var raw = try file.read(upTo: Self.pieceBytes)
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
}
