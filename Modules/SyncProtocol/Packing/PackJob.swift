import CRDTCore

/// A piece of a large group that is to be packed outside of its session: it needs nothing of any other piece.
public struct PackJob: Sendable {
  /// Counts the jobs of a session.
  let ticket: UInt64
  /// The whole group; shared, not copied.
  let group: [UInt8]
  let range: Range<Int>
  let level: Int

  /// Packs the piece, on any thread.
  ///
  /// - Complexity: About a millisecond for 64 KiB.
  public func run(with bench: PackBench) -> PackedPiece {
    let plain = group.span.bytes.extracting(range)
    let before = group.span.bytes.extracting(
      max(0, range.lowerBound - Packer.dictionaryBytes)..<range.lowerBound)
    return PackedPiece(
      ticket: ticket,
      result: Result { () throws(SyncError) in try bench.pack(plain, after: before, level: level) })
  }
}

/// What became of a job.
public struct PackedPiece: Sendable {
  let ticket: UInt64
  /// `nil` when packing does not make it smaller.
  let result: Result<[UInt8]?, SyncError>
}

/// What one thread needs for packing, kept from piece to piece; used by one thread at a time.
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
