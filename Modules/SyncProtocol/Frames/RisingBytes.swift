import CRDTCore

extension ByteWriter {
  /// Bytes that are above those before them: how many they share with these, and the rest.
  mutating func writeRising(_ bytes: [UInt8], after previous: [UInt8]) {
    var shared = 0
    while shared < min(previous.count, bytes.count), previous[shared] == bytes[shared] { shared += 1 }
    writeVarint(shared)
    writeBlob(bytes[shared...])
  }
}

extension ByteReader {
  /// Replaces `bytes`, at first empty, by those that follow them; there is one way to write these.
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

  /// An id that is above the one before, of which `bytes` are those.
  mutating func readRisingID(_ bytes: inout [UInt8]) throws(CodecError) -> DocumentID {
    let start = offset
    try readRising(&bytes)
    do { return try DocumentID(validating: bytes.span.bytes) } catch {
      throw CodecError(error.code, error.message, at: start)
    }
  }
}

extension RawSpan {
  /// The first byte, of which there must be one.
  fileprivate var first: UInt8 { unsafe unsafeLoadUnaligned(fromByteOffset: 0, as: UInt8.self) }
}
