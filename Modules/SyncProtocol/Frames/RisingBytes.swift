import CRDTCore

extension ByteWriter {
  /// Writes bytes that are above the previous ones: the length of the common prefix, then the rest.
  mutating func writeRising(_ bytes: [UInt8], after previous: [UInt8]) {
    var shared = 0
    while shared < min(previous.count, bytes.count), previous[shared] == bytes[shared] { shared += 1 }
    writeVarint(shared)
    writeBlob(bytes[shared...])
  }
}

extension ByteReader {
  /// Replaces `bytes`, initially empty, with the bytes that follow them.
  ///
  /// Only the canonical encoding is accepted.
  mutating func readRising(_ bytes: inout [UInt8], limit: Int = Limits.documentIDBytes) throws(CodecError) {
    let start = offset
    guard let shared = Int(exactly: try readVarint()), shared <= bytes.count else {
      throw CodecError(.malformed, "bytes share more than there is", at: start)
    }
    let rest = try readBlob()
    guard shared + rest.byteCount <= limit else { throw CodecError(.limit, "bytes are too long", at: start) }
    guard rest.byteCount > 0, shared == bytes.count || rest.first > bytes[shared] else {
      throw CodecError(.malformed, "bytes do not rise", at: start)
    }
    bytes.removeSubrange(shared...)
    unsafe rest.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
  }

  /// Reads an id that is above the previous one, whose bytes are `bytes`.
  mutating func readRisingID(_ bytes: inout [UInt8]) throws(CodecError) -> DocumentID {
    let start = offset
    try readRising(&bytes)
    do { return try DocumentID(validating: bytes.span.bytes) } catch {
      throw CodecError(error.code, error.message, at: start)
    }
  }
}

extension RawSpan {
  /// The first byte; the span must not be empty.
  fileprivate var first: UInt8 { unsafe unsafeLoadUnaligned(fromByteOffset: 0, as: UInt8.self) }
}
