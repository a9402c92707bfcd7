import CZlib

/// A gzip file being packed, as one member.
final class GzipWriter {
  private var stream = z_stream()
  private static let pieceBytes = 256 << 10

  init() throws {
    let size = Int32(MemoryLayout<z_stream>.size)
    let status = deflateInit2_(&stream, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, size)
    guard status == Z_OK else { throw ToolError("zlib cannot start (\(status))") }
  }

  deinit { deflateEnd(&stream) }

  /// Packs the next bytes, and with `finish` the last ones.
  func pack(_ plain: [UInt8], finish: Bool) -> [UInt8] {
    var plain = plain
    var packed: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: Self.pieceBytes)
    plain.withUnsafeMutableBufferPointer { source in
      stream.next_in = source.baseAddress
      stream.avail_in = uInt(source.count)
      repeat {
        piece.withUnsafeMutableBufferPointer { target in
          stream.next_out = target.baseAddress
          stream.avail_out = uInt(Self.pieceBytes)
          _ = deflate(&stream, finish ? Z_FINISH : Z_NO_FLUSH)
        }
        packed.append(contentsOf: piece[..<(Self.pieceBytes - Int(stream.avail_out))])
      } while stream.avail_out == 0
    }
    return packed
  }
}
