import CRDTCore

/// The beginning of a frame whose rest has not arrived; frames that arrive whole never come here.
package struct FrameBuffer {
  package private(set) var bytes: [UInt8] = []
  /// How many bytes went through it: only those of frames that arrived in several pieces.
  package private(set) var copiedBytes = 0

  package init() {}

  package var isEmpty: Bool { bytes.isEmpty }
  /// Whether the frame is complete, and was not removed.
  package private(set) var isWhole = false

  /// Adds bytes from `position` on, up to the end of the frame that is begun.
  ///
  /// - Returns: Whether the frame is complete.
  package mutating func complete(with source: RawSpan, from position: inout Int) throws(SyncError) -> Bool {
    while true {
      let whole = try FrameCodec.byteCount(of: bytes.span.bytes)
      let missing = whole.map { $0 - bytes.count } ?? 1
      guard missing > 0 else {
        isWhole = true
        return true
      }
      guard position < source.byteCount else { return false }
      if let whole { bytes.reserveCapacity(whole) }
      let count = min(missing, source.byteCount - position)
      append(source.extracting(position..<position + count))
      position += count
    }
  }

  /// Keeps what no whole frame begins with.
  package mutating func append(_ source: RawSpan) {
    unsafe source.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
    copiedBytes += source.byteCount
  }

  /// Drops what has gathered, for the next frame.
  package mutating func removeAll() { (bytes, isWhole) = ([], false) }
}
