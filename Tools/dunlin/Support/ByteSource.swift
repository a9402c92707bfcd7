import CZlib
import Foundation

/// A file or standard input, read in pieces and unpacked on the way when it is gzip.
///
/// Not thread-safe; one task reads it.
final class ByteSource {
  private let file: FileHandle
  private let name: String
  private var inflater: Inflater?
  private var hasStarted = false
  /// Bytes of the file itself read so far, for progress.
  private(set) var bytesRead = 0
  /// The file's size; `nil` for a pipe.
  let byteCount: Int?

  /// Opens a file, or standard input for `-`.
  init(path: String) throws {
    name = path == "-" ? "standard input" : path
    guard path != "-" else {
      file = .standardInput
      byteCount = nil
      return
    }
    guard let file = FileHandle(forReadingAtPath: path) else {
      throw ToolError("\(path): cannot be opened for reading: \(String(cString: strerror(errno)))")
    }
    self.file = file
    let attributes = try? FileManager.default.attributesOfItem(atPath: path)
    byteCount = attributes?[.size] as? Int
  }

  /// The next piece of plain bytes; `nil` at the end.
  func next() throws -> [UInt8]? {
    while true {
      guard let raw = try file.read(upToCount: 256 << 10), !raw.isEmpty else {
        guard inflater?.isFinished ?? true else { throw ToolError("\(name): the gzip data end early") }
        return nil
      }
      bytesRead += raw.count
      if !hasStarted {
        hasStarted = true
        if raw.starts(with: [0x1F, 0x8B]) { inflater = try Inflater() }
      }
      guard let inflater else { return Array(raw) }
      let plain = try inflater.inflate(Array(raw), name: name)
      if !plain.isEmpty { return plain }
    }
  }
}

/// Where lines go: a file, packed when its name ends in `.gz`, or standard output.
final class ByteSink {
  private let file: FileHandle
  private let deflater: Deflater?

  init(path: String) throws {
    guard path != "-" else {
      file = .standardOutput
      deflater = nil
      return
    }
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
    guard descriptor >= 0 else {
      throw ToolError("\(path): cannot be opened for writing: \(String(cString: strerror(errno)))")
    }
    file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    deflater = path.hasSuffix(".gz") ? try Deflater() : nil
  }

  func write(_ bytes: [UInt8]) throws {
    let out = try deflater?.deflate(bytes, finish: false) ?? bytes
    if !out.isEmpty { try file.write(contentsOf: Data(out)) }
  }

  func close() throws {
    if let deflater { try file.write(contentsOf: Data(try deflater.deflate([], finish: true))) }
  }
}

/// A gzip stream being unpacked; members that follow one another are one stream.
private final class Inflater {
  private var stream = z_stream()
  private(set) var isFinished = false

  init() throws {
    // 15 bits of window, plus 16 for the gzip wrapper.
    let status = inflateInit2_(&stream, 31, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    guard status == Z_OK else { throw ToolError("zlib cannot start (\(status))") }
  }

  deinit { inflateEnd(&stream) }

  func inflate(_ input: [UInt8], name: String) throws -> [UInt8] {
    var input = input
    var output: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 256 << 10)
    let size = input.count
    try input.withUnsafeMutableBufferPointer { source in
      stream.next_in = source.baseAddress
      stream.avail_in = uInt(size)
      repeat {
        if isFinished {
          inflateReset(&stream)
          isFinished = false
        }
        let capacity = piece.count
        let status = piece.withUnsafeMutableBufferPointer { target in
          stream.next_out = target.baseAddress
          stream.avail_out = uInt(capacity)
          return CZlib.inflate(&stream, Z_NO_FLUSH)
        }
        guard status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR else {
          throw ToolError("\(name): the gzip data are damaged (\(status))")
        }
        isFinished = status == Z_STREAM_END
        output.append(contentsOf: piece[..<(capacity - Int(stream.avail_out))])
      } while stream.avail_in > 0 || stream.avail_out == 0
    }
    return output
  }
}

private final class Deflater {
  private var stream = z_stream()

  init() throws {
    let size = Int32(MemoryLayout<z_stream>.size)
    let status = deflateInit2_(&stream, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, size)
    guard status == Z_OK else { throw ToolError("zlib cannot start (\(status))") }
  }

  deinit { deflateEnd(&stream) }

  func deflate(_ input: [UInt8], finish: Bool) throws -> [UInt8] {
    var input = input
    var output: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 256 << 10)
    let size = input.count
    input.withUnsafeMutableBufferPointer { source in
      stream.next_in = source.baseAddress
      stream.avail_in = uInt(size)
      repeat {
        let capacity = piece.count
        piece.withUnsafeMutableBufferPointer { target in
          stream.next_out = target.baseAddress
          stream.avail_out = uInt(capacity)
          _ = CZlib.deflate(&stream, finish ? Z_FINISH : Z_NO_FLUSH)
        }
        output.append(contentsOf: piece[..<(capacity - Int(stream.avail_out))])
      } while stream.avail_out == 0
    }
    return output
  }
}
