import CRDTCore
import SyncProtocol

/// Chunks for the dense coder, which takes the same time per plain byte, however few wire bytes there are.
enum DenseChunks {
  private static let totalBytes = 32 << 20
  private static let plainBytes = SyncLimits.densePieceBytes

  /// Chunks that announce 16 KiB and hold nothing.
  static let empty = Row.raw("empty-dense-chunks", "dense chunks of 16 KiB plain that hold no data") {
    attack((0..<2_000).map { _ in [] })
  }

  /// Chunks of 16 KiB of zeros, as an honest packer would make them.
  static let full = Row.raw("dense-chunks", "dense chunks of 16 KiB of zeros, a few bytes each") {
    let coder = DenseCoder()
    let zeros = [UInt8](repeating: 0, count: plainBytes)
    return attack((0..<256).map { _ in coder.pack(zeros.span.bytes) })
  }

  private static func attack(_ contents: [[UInt8]]) -> @Sendable (Target) -> Void {
    let frames = contents.enumerated().map { number, content in
      RawGroup.chunk(4, of: totalBytes, at: number * plainBytes, plainBytes: plainBytes, content)
    }
    return { target in
      target.lanes(3) { lane in
        target.again(lane: lane) { connection, _ in
          for frame in frames where connection.isOpen { connection.send(frame) }
          connection.listen(for: .milliseconds(200))
        }
      }
    }
  }
}
