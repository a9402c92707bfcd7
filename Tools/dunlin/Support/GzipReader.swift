import CZlib

/// Unpacks a gzip file (RFC 1952): successive members are one stream, and zeros may follow them.
final class GzipReader {
  private enum State {
    /// Inside a member, of which the rest is still to come.
    case member
    /// Behind a whole member, where another one, zeros or the end may come.
    case between
  }

  private var stream = z_stream()
  private var state = State.member
  private let name: String
  private static let pieceBytes = 256 << 10

  static func recognizes(_ start: [UInt8]) -> Bool { start.starts(with: [0x1F, 0x8B]) }

  /// - Parameter name: What errors call the file.
  /// - Throws: When there is no memory.
  init(name: String) throws {
    self.name = name
    // 15 bits of window, plus 16 for the gzip wrapper.
    let status = inflateInit2_(&stream, 31, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    guard status == Z_OK else { throw ToolError("zlib cannot start (\(status))") }
  }

  deinit { inflateEnd(&stream) }

  /// Unpacks the file's next bytes.
  func unpack(_ packed: [UInt8]) throws -> [UInt8] {
    var packed = packed
    var plain: [UInt8] = []
    try packed.withUnsafeMutableBufferPointer { source in
      stream.next_in = source.baseAddress
      stream.avail_in = uInt(source.count)
      while true {
        if state == .between {
          skipZeros()
          guard stream.avail_in > 0 else { return }
          inflateReset(&stream)
          state = .member
        }
        // What a member still owes when its input is used up comes out while there is no room left over.
        guard try step(&plain) || stream.avail_in > 0 else { return }
      }
    }
    return plain
  }

  /// Ends the file.
  ///
  /// - Throws: When it ends within a member.
  func finish() throws {
    guard state == .between else { throw ToolError("\(name): the gzip data end early") }
  }

  private func skipZeros() {
    while stream.avail_in > 0, let next = stream.next_in, next.pointee == 0 {
      stream.next_in = next + 1
      stream.avail_in -= 1
    }
  }

  /// Unpacks one piece of a member.
  ///
  /// - Returns: Whether the member may have more without further input.
  private func step(_ plain: inout [UInt8]) throws -> Bool {
    let start = plain.count
    plain.append(contentsOf: repeatElement(0, count: Self.pieceBytes))
    let status = plain.withUnsafeMutableBufferPointer { target in
      stream.next_out = target.baseAddress.map { $0 + start }
      stream.avail_out = uInt(Self.pieceBytes)
      return inflate(&stream, Z_NO_FLUSH)
    }
    let isFull = stream.avail_out == 0
    plain.removeLast(Int(stream.avail_out))
    switch status {
    case Z_STREAM_END:
      state = .between
      return true
    case Z_OK: return isFull
    case Z_BUF_ERROR: return false
    default: throw ToolError("\(name): the gzip data are damaged (\(status))")
    }
  }
}
