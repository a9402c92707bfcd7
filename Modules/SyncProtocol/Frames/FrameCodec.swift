package import CRDTCore
import CZlib
import Failpoints

/// Splits a byte stream into frames, and encodes payloads as frames.
///
/// A frame consists of a varint length, a type byte, the payload, and a CRC-32 checksum. The length counts
/// the type and the payload. The checksum is that of zlib, big-endian, over everything before it, XORed with
/// the frame's number.
///
/// The first frame of a stream is the hello. Every version of the protocol can read its head: a big-endian
/// `u32` length that includes the checksum. Its first byte is zero, which no other frame begins with.
package enum FrameCodec {
  /// The position of a frame in a buffer.
  package struct Bounds: Hashable, Sendable {
    package let type: UInt8
    package let payload: Range<Int>
    package let end: Int
  }

  private static let checksumBytes = 4
  /// The maximum bytes of the length field, for 128 KiB.
  private static let lengthBytes = 3

  /// Finds the frame that starts at `offset`, and verifies its checksum and its number.
  ///
  /// - Parameters:
  ///   - bytes: The received bytes.
  ///   - offset: Where the frame begins.
  ///   - number: The expected number: the first two frames of a stream have the number 0.
  /// - Returns: `nil` while the frame is not complete.
  /// - Throws: `limit` for an invalid length, as soon as the length is there; `checksum`.
  package static func next(
    in bytes: RawSpan, at offset: Int, number: UInt32 = 0
  ) throws(SyncError) -> Bounds? {
    guard let bounds = try bounds(in: bytes, at: offset) else { return nil }
    let last = bounds.payload.upperBound
    let stored = UInt32(bigEndian: unsafe bytes.unsafeLoadUnaligned(fromByteOffset: last, as: UInt32.self))
    guard stored ^ number == checksum(bytes.extracting(offset..<last)) || SyncDefect.checksumIgnored.isPlanted
    else {
      throw SyncError(.checksum, "a frame's checksum does not fit", offset: offset)
    }
    return bounds
  }

  /// Finds the frame that starts at `offset` without verifying its checksum, for observers of the stream.
  ///
  /// - Returns: `nil` while the frame is not complete.
  /// - Throws: `limit` for an invalid length.
  package static func bounds(in bytes: RawSpan, at offset: Int) throws(SyncError) -> Bounds? {
    guard let head = try head(in: bytes, at: offset), head.end <= bytes.byteCount else { return nil }
    let last = head.end - checksumBytes
    let type = unsafe bytes.unsafeLoadUnaligned(fromByteOffset: head.type, as: UInt8.self)
    return Bounds(type: type, payload: head.type + 1..<last, end: head.end)
  }

  /// Returns the size of the frame that starts with these bytes.
  ///
  /// - Returns: `nil` while its head is not complete.
  package static func byteCount(of bytes: RawSpan) throws(SyncError) -> Int? {
    try head(in: bytes, at: 0)?.end
  }

  /// Returns where the type byte of a frame is, and where the frame ends.
  private static func head(in bytes: RawSpan, at offset: Int) throws(SyncError) -> (type: Int, end: Int)? {
    guard offset >= 0, offset < bytes.byteCount else { return nil }
    guard beginsStream(bytes, at: offset) else { return try laterHead(in: bytes, at: offset) }
    guard bytes.byteCount - offset >= 4 else { return nil }
    let length = Int(
      unsafe UInt32(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt32.self)))
    guard length > checksumBytes else {
      throw SyncError(.malformed, "a frame is shorter than its fixed parts", offset: offset)
    }
    try check(length, at: offset)
    return (offset + 4, offset + 4 + length)
  }

  /// Returns whether the first byte of a frame, which must exist, begins the first frame of a stream.
  package static func beginsStream(_ bytes: RawSpan, at offset: Int) -> Bool {
    unsafe bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt8.self) == 0
  }

  private static func laterHead(
    in bytes: RawSpan, at offset: Int
  ) throws(SyncError) -> (type: Int, end: Int)? {
    var length = 0
    for index in 0..<lengthBytes {
      guard offset + index < bytes.byteCount else { return nil }
      let byte = unsafe bytes.unsafeLoadUnaligned(fromByteOffset: offset + index, as: UInt8.self)
      length |= Int(byte & 0x7F) << (7 * index)
      guard byte < 0x80 else { continue }
      guard index == 0 || byte > 0 else {
        throw SyncError(.malformed, "a frame's length is not in its shortest form", offset: offset)
      }
      try check(length + checksumBytes, at: offset)
      return (offset + index + 1, offset + index + 1 + length + checksumBytes)
    }
    throw SyncError(.limit, "a frame's length is too long", offset: offset)
  }

  private static func check(_ length: Int, at offset: Int) throws(SyncError) {
    guard length <= SyncLimits.frameBytes else {
      throw SyncError(
        .limit, "a frame announces \(length) bytes, at most \(SyncLimits.frameBytes) are allowed",
        offset: offset)
    }
  }

  /// Combines a frame's checksum with the frame's number.
  package static func number(_ frame: inout [UInt8], as number: UInt32) {
    for index in 0..<checksumBytes {
      frame[frame.count - 1 - index] ^= UInt8(truncatingIfNeeded: number >> UInt32(8 * index))
    }
  }

  /// Makes a frame with the payload that `body` writes; `payloadBytes` is an estimate of its size.
  package static func frame(
    _ type: FrameType, isFirst: Bool = false, payloadBytes: Int = 48, _ body: (inout ByteWriter) -> Void
  ) -> [UInt8] {
    frame(rawType: type.rawValue, isFirst: isFirst, payloadBytes: payloadBytes, body)
  }

  /// Makes a frame with any type byte, known or not.
  package static func frame(
    rawType: UInt8, isFirst: Bool = false, payloadBytes: Int = 48, _ body: (inout ByteWriter) -> Void
  ) -> [UInt8] {
    var writer = ByteWriter(capacity: payloadBytes + 16)
    let reserved = isFirst ? 4 : varintBytes(payloadBytes + 1)
    for _ in 0..<reserved { writer.write(0 as UInt8) }
    writer.write(rawType)
    body(&writer)
    var head = ByteWriter(capacity: 4)
    if isFirst {
      head.writeFixed(UInt32(writer.count - reserved + checksumBytes))
    } else {
      head.writeVarint(writer.count - reserved)
    }
    // This moves the payload only if the estimate led to a length field of another size.
    writer.bytes.replaceSubrange(0..<reserved, with: head.bytes)
    writer.writeFixed(checksum(writer.bytes.span.bytes))
    return writer.bytes
  }

  private static func varintBytes(_ value: Int) -> Int { value < 1 << 7 ? 1 : value < 1 << 14 ? 2 : 3 }

  /// Returns zlib's CRC-32.
  package static func checksum(_ bytes: RawSpan) -> UInt32 {
    unsafe bytes.withUnsafeBytes { buffer in
      // SAFETY: zlib reads the buffer during the call only; a frame's length fits its count type.
      UInt32(
        truncatingIfNeeded: unsafe crc32(
          0, buffer.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt32(buffer.count)))
    }
  }
}
