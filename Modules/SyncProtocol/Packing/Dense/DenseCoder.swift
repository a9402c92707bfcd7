import CRDTCore

/// Packs data for a slow link a quarter smaller than deflate, at some megabytes a second.
///
/// There is one model per direction of a session. It continues to learn from piece to piece, in sending
/// order.
package final class DenseCoder {
  private let model = DenseModel()

  package init() {}

  package func pack(_ plain: RawSpan) -> [UInt8] {
    var encoder = BitEncoder()
    var offset = 0
    while offset < plain.byteCount {
      // SAFETY: the offset is within the span.
      let byte = Int(unsafe plain.unsafeLoad(fromByteOffset: offset, as: UInt8.self))
      var shift = 7
      while shift >= 0 {
        let bit = byte &>> shift & 1
        encoder.write(bit, model.predict(shift))
        model.learn(bit, shift)
        shift = shift &- 1
      }
      offset = offset &+ 1
    }
    encoder.finish()
    return encoder.bytes
  }

  /// Expands a piece to exactly the announced number of bytes.
  ///
  /// - Throws: `malformed` when bytes are left over or missing; the coder cannot be used after that.
  package func expand(_ packed: RawSpan, plainCount: Int, into output: inout [UInt8]) throws(SyncError) {
    var decoder = BitDecoder(packed.copied)
    output.reserveCapacity(output.count + plainCount)
    for _ in 0..<plainCount {
      var byte = 0
      var shift = 7
      while shift >= 0 {
        let bit = decoder.read(model.predict(shift))
        model.learn(bit, shift)
        byte = byte &<< 1 | bit
        shift = shift &- 1
      }
      output.append(UInt8(truncatingIfNeeded: byte))
      if decoder.isBeyondEnd { throw SyncError(.malformed, "a dense piece ends before what it announces") }
    }
    guard decoder.isAtEnd else {
      throw SyncError(.malformed, "a dense piece is longer than what it announces")
    }
  }

  /// Teaches the model bytes that the other end has, too, and learns at the same position of the stream.
  package func learn(_ plain: RawSpan) {
    for offset in 0..<plain.byteCount {
      // SAFETY: the offset is within the span.
      let byte = Int(unsafe plain.unsafeLoad(fromByteOffset: offset, as: UInt8.self))
      for shift in stride(from: 7, through: 0, by: -1) {
        _ = model.predict(shift)
        model.learn(byte &>> shift & 1, shift)
      }
    }
  }
}
