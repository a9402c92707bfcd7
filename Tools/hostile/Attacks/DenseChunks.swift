import CRDTCore
import SyncProtocol

/// Chunks for the dense coder, which takes the more time for a byte the better it packs.
enum EmptyDenseChunks {
  private static let totalBytes = 32 << 20
  private static let plainBytes = 16 << 10

  /// Chunks that announce 16 KiB and hold nothing.
  static let row = Row.raw("empty-dense-chunks", "dense chunks of 16 KiB plain that hold no data") {
    let frames = (0..<2_000).map { number in
      RawGroup.chunk(4, of: totalBytes, at: number * plainBytes, plainBytes: plainBytes, [])
    }
    return { target in
      target.lanes(3) { lane in
        target.again(lane: lane) { connection, _ in
          for frame in frames where connection.isOpen { connection.send(frame) }
          connection.listen(for: .milliseconds(100))
        }
      }
    }
  }
}
