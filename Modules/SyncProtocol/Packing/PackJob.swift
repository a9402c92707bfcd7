import CRDTCore

/// A chunk to be compressed outside of its session; it needs the result of no other chunk.
public struct PackJob: Sendable {
  /// The number of the job in its session.
  let ticket: UInt64
  /// The whole transaction; shared, not copied.
  let transaction: [UInt8]
  let range: Range<Int>
  let level: Int

  /// Compresses the chunk, on any thread.
  ///
  /// - Complexity: About a millisecond for 64 KiB.
  public func run(with bench: PackBench) -> PackedPiece {
    let plain = transaction.span.bytes.extracting(range)
    let before = transaction.span.bytes.extracting(
      max(0, range.lowerBound - Packer.dictionaryBytes)..<range.lowerBound)
    return PackedPiece(
      ticket: ticket,
      result: Result { () throws(SyncError) in try bench.pack(plain, after: before, level: level) })
  }
}

/// The result of a job.
public struct PackedPiece: Sendable {
  let ticket: UInt64
  /// The compressed bytes; `nil` when compression does not make the chunk smaller.
  let result: Result<[UInt8]?, SyncError>
}

/// The compressor of one thread, reused for each chunk; used by one thread at a time.
public final class PackBench {
  private var deflater: Deflater?

  public init() {}

  func pack(_ plain: RawSpan, after dictionary: RawSpan, level: Int) throws(SyncError) -> [UInt8]? {
    let deflater: Deflater
    if let known = self.deflater { deflater = known } else { deflater = try Deflater(level: level) }
    self.deflater = deflater
    let packed = try deflater.compressAlone(plain, after: dictionary, level: level)
    return packed.count < plain.byteCount ? packed : nil
  }
}
