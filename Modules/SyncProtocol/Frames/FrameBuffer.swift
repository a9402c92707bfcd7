import CRDTCore

/// The beginning of an incomplete frame; frames that arrive complete bypass this buffer.
package struct FrameBuffer {
  package private(set) var bytes: [UInt8] = []
  /// How many bytes were copied: only those of frames that arrived in several pieces.
  package private(set) var copiedBytes = 0

  package init() {}

  package var isEmpty: Bool { bytes.isEmpty }
  /// Whether the frame is complete and not removed yet.
  package private(set) var isWhole = false

  /// Appends bytes from `position` on, up to the end of the current frame.
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

  /// Appends bytes that do not complete a frame.
  package mutating func append(_ source: RawSpan) {
    unsafe source.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
    copiedBytes += source.byteCount
  }

  /// Removes everything, for the next frame.
  package mutating func removeAll() { (bytes, isWhole) = ([], false) }
}
