package import CRDTCore
import CZlib

/// Cuts a byte stream into frames, and wraps payloads into them.
///
/// A frame is a big-endian `u32` length of what follows it, a type byte, the payload, and a big-endian
/// CRC-32 (that of zlib) of everything before it, the length included.
package enum FrameCodec {
  /// Where a frame lies in the bytes at hand.
  package struct Bounds: Hashable, Sendable {
    package let type: UInt8
    package let payload: Range<Int>
    package let end: Int
  }

  /// Finds the frame that starts at `offset`.
  ///
  /// - Returns: `nil` while the frame is not complete.
  /// - Throws: `limit` for a length that no frame has, as soon as the length is there; `checksum`.
  package static func next(in bytes: RawSpan, at offset: Int) throws(SyncError) -> Bounds? {
    guard offset >= 0, bytes.byteCount - offset >= 4 else { return nil }
    let length = Int(
      unsafe UInt32(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt32.self)))
    guard length >= 5 else {
      throw SyncError(.malformed, "a frame is shorter than its fixed parts", offset: offset)
    }
    guard length <= SyncLimits.frameBytes else {
      throw SyncError(
        .limit, "a frame announces \(length) bytes, at most \(SyncLimits.frameBytes) are allowed",
        offset: offset)
    }
    let end = offset + 4 + length
    guard end <= bytes.byteCount else { return nil }
    let stored = UInt32(bigEndian: unsafe bytes.unsafeLoadUnaligned(fromByteOffset: end - 4, as: UInt32.self))
    guard stored == checksum(bytes.extracting(offset..<end - 4)) else {
      throw SyncError(.checksum, "a frame's checksum does not fit", offset: offset)
    }
    let type = unsafe bytes.unsafeLoadUnaligned(fromByteOffset: offset + 4, as: UInt8.self)
    return Bounds(type: type, payload: offset + 5..<end - 4, end: end)
  }

  /// Makes a frame of a payload that `body` writes.
  package static func frame(_ type: FrameType, _ body: (inout ByteWriter) -> Void) -> [UInt8] {
    frame(rawType: type.rawValue, body)
  }

  /// Makes a frame of any type byte, known or not.
  package static func frame(rawType: UInt8, _ body: (inout ByteWriter) -> Void) -> [UInt8] {
    var writer = ByteWriter(capacity: 64)
    writer.writeFixed(UInt32(0))
    writer.write(rawType)
    body(&writer)
    let length = UInt32(writer.count)
    unsafe withUnsafeBytes(of: length.bigEndian) { source in
      for (index, byte) in unsafe source.enumerated() { writer.bytes[index] = byte }
    }
    writer.writeFixed(checksum(writer.bytes.span.bytes))
    return writer.bytes
  }

  /// zlib's CRC-32.
  package static func checksum(_ bytes: RawSpan) -> UInt32 {
    unsafe bytes.withUnsafeBytes { buffer in
      // SAFETY: zlib reads the buffer during the call only; a frame's length fits its count type.
      UInt32(
        truncatingIfNeeded: unsafe crc32(
          0, buffer.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt32(buffer.count)))
    }
  }
}
