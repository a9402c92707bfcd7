import CRDTCore

/// A failure of a frame: its bytes are malformed, or its content is invalid in this state.
enum FrameFailure: Error {
  case codec(CodecError)
  case session(SyncError)
}

extension ByteReader {
  /// Decodes the rest of a payload, and requires that nothing follows.
  mutating func whole<T>(
    _ body: (inout ByteReader) throws(CodecError) -> T
  ) throws(FrameFailure) -> T {
    do throws(CodecError) {
      let value = try body(&self)
      try expectEnd()
      return value
    } catch {
      throw .codec(error)
    }
  }

  /// Decodes the next field of a payload.
  mutating func field<T>(
    _ body: (inout ByteReader) throws(CodecError) -> T
  ) throws(FrameFailure) -> T {
    do { return try body(&self) } catch { throw .codec(error) }
  }
}

/// Runs what a decoded frame asks for.
func run(_ body: () throws(SyncError) -> Void) throws(FrameFailure) {
  do { try body() } catch { throw .session(error) }
}
