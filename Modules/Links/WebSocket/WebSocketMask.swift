import NIOCore

/// The masking of what clients send (RFC 6455, section 5.3).
enum WebSocketMask {
  /// Moves bytes from one buffer to the end of another, and masks or unmasks them.
  ///
  /// - Parameters:
  ///   - count: How many bytes; the source has as many.
  ///   - source: The bytes, which are removed.
  ///   - target: Where they go.
  ///   - key: The key; its first byte is the most significant one.
  ///   - position: How many bytes of the frame precede them.
  static func move(
    _ count: Int, from source: inout ByteBuffer, to target: inout ByteBuffer, key: UInt32, at position: Int
  ) {
    let shift = UInt32(position % 4) * 8
    let rotated = shift == 0 ? key : key << shift | key >> (32 - shift)
    source.withUnsafeReadableBytes { bytes in
      _ = target.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { space in
        apply(rotated, bytes, space, count)
        return count
      }
    }
    source.moveReaderIndex(forwardBy: count)
  }

  private static func apply(
    _ key: UInt32, _ bytes: UnsafeRawBufferPointer, _ space: UnsafeMutableRawBufferPointer, _ count: Int
  ) {
    let wide = (UInt64(key) << 32 | UInt64(key)).bigEndian
    var index = 0
    while index + 8 <= count {
      let masked = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self) ^ wide
      space.storeBytes(of: masked, toByteOffset: index, as: UInt64.self)
      index += 8
    }
    while index < count {
      let part = UInt8(truncatingIfNeeded: key >> (24 - 8 * UInt32(index % 4)))
      space[index] = bytes[index] ^ part
      index += 1
    }
  }
}
