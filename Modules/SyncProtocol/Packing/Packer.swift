import CRDTCore
import Failpoints

/// Turns transactions into fragments and chunks.
final class Packer {
  /// How many plain bytes before a chunk serve as its dictionary.
  static let dictionaryBytes = 32 << 10
  /// Smaller chunks are not worth handing to another thread.
  static let jobBytes = 16 << 10
  /// Bytes of the stream's window that an idle session keeps.
  ///
  /// They suffice for one or two documents that are similar to the last ones.
  static let restedBytes = 4 << 10
  var policy: PackingPolicy
  private var stream: Deflater?
  /// The end of the stream's window when its compressor was freed.
  private var window: [UInt8] = []
  private var bench = PackBench()
  private lazy var dense = DenseCoder()
  /// The number of pieces to store without compression, since the last one hardly shrank.
  private var storedRun = 0

  /// A packed piece in its frame.
  struct Piece {
    let frame: [UInt8]
    /// The size of the content without its frame.
    let packedBytes: Int
  }

  init(level: Int?, isLocal: Bool, patience: Duration = SyncTuning().transfers.packingPatience) {
    policy = PackingPolicy(level: level, isLocal: isLocal, patience: patience)
  }

  /// Frees the compressors, which take 256 KiB each: a session may send nothing for hours.
  func rest() throws(SyncError) {
    bench = PackBench()
    guard let stream else { return }
    // The receiver's window contains these bytes, too.
    window = try stream.window(limit: Self.restedBytes)
    self.stream = nil
  }

  /// Packs the next piece of the stream of small transactions into a frame.
  ///
  /// Whether it is stored is decided before the compressor sees it: both ends must have the same window.
  func fragment(
    _ plain: RawSpan, rate: Double?, for use: PackingPolicy.Use
  ) throws(SyncError) -> Piece {
    if storedRun > 0 {
      storedRun -= 1
      return fragment(plain, .stored, plainBytes: plain.byteCount)
    }
    switch policy.choice(rate: rate, for: use) {
    case .stored: return fragment(plain, .stored, plainBytes: plain.byteCount)
    case .deflated(let level):
      let deflater: Deflater
      if let stream { deflater = stream } else { deflater = try Deflater(level: level, after: window) }
      stream = deflater
      window = []
      try deflater.set(level: level, seekingRepeats: use.seeksRepeats(at: level))
      let packed = try deflater.compressNext(plain)
      skipNext(packed: packed.count, plain: plain.byteCount)
      return fragment(packed.span.bytes, .deflated, plainBytes: plain.byteCount)
    case .dense: return fragment(packDense(plain).span.bytes, .dense, plainBytes: plain.byteCount)
    }
  }

  private func fragment(_ content: RawSpan, _ packing: PiecePacking, plainBytes: Int) -> Piece {
    let frame = FrameCodec.frame(.fragment, payloadBytes: content.byteCount + 4) { out in
      FragmentHead(packing, plainBytes: plainBytes).encode(to: &out)
      out.write(content)
    }
    return Piece(frame: frame, packedBytes: content.byteCount)
  }

  /// A chunk, compressed or to be compressed by another thread.
  enum Chunk {
    case packed(PackingLine.Content)
    case job(level: Int)
  }

  /// Packs the bytes of a large transaction from `offset` on, or leaves that to another thread if it may.
  ///
  /// `goesNext` says that no other chunk is sent before this one.
  func chunk(
    of transaction: RawSpan, offset: Int, plainBytes: Int, rate: Double?, isBulk: Bool, mayLeave: Bool,
    goesNext: Bool
  ) throws(SyncError) -> Chunk {
    let plain = transaction.extracting(offset..<offset + plainBytes)
    var choice = chunkChoice(rate: rate, isBulk: isBulk)
    if choice == .dense {
      // The model learns in sending order, and learns nothing from chunks that do not shrink.
      if storedRun > 0 { choice = .stored } else if !goesNext { choice = .deflated(level: 9) }
    }
    switch choice {
    case .stored:
      storedRun = max(storedRun - 1, 0)
      return .packed(.piece(nil, .stored))
    case .dense: return .packed(.piece(packDense(plain), .dense))
    case .deflated(let level):
      if mayLeave, plainBytes >= Self.jobBytes { return .job(level: level) }
      let before = transaction.extracting(max(0, offset - Self.dictionaryBytes)..<offset)
      return .packed(.deflated(try bench.pack(plain, after: before, level: level)))
    }
  }

  /// Returns the frame of a chunk; `packed` is `nil` if it is sent uncompressed.
  func frame(_ head: ChunkHead, _ packed: [UInt8]?, of transaction: RawSpan) -> Piece {
    let plain = transaction.extracting(head.offset..<head.offset + head.plainBytes)
    let count = packed?.count ?? head.plainBytes
    let frame = FrameCodec.frame(.chunk, payloadBytes: count + 16) { out in
      head.encode(to: &out)
      if let packed { out.write(packed) } else { out.write(plain) }
    }
    return Piece(frame: frame, packedBytes: count)
  }

  /// Chooses how to pack a chunk; a link that may be slow counts as slow.
  private func chunkChoice(rate: Double?, isBulk: Bool) -> PackingPolicy.Choice {
    policy.choice(rate: rate ?? (policy.isLongLink ? 0 : nil), for: isBulk ? .bulk : .large)
  }

  /// Returns the maximum of plain bytes in one piece.
  func pieceLimit(rate: Double?) -> Int {
    chunkChoice(rate: rate, isBulk: false) == .dense
      ? SyncLimits.densePieceBytes : SyncLimits.smallTransactionBytes
  }

  /// Teaches the dense model bytes that are not sent because the peer has them.
  ///
  /// It does so only if chunks are packed densely.
  ///
  /// - Returns: Whether it did, so that the other end must do the same.
  func learn(_ plain: RawSpan, rate: Double?) -> Bool {
    guard chunkChoice(rate: rate, isBulk: false) == .dense else { return false }
    dense.learn(plain)
    return true
  }

  private func packDense(_ plain: RawSpan) -> [UInt8] {
    SyncPoint.packedDensely.reached()
    let packed = dense.pack(plain)
    skipNext(packed: packed.count, plain: plain.byteCount)
    return packed
  }

  private func skipNext(packed: Int, plain: Int) {
    if packed * 20 > plain * 19, plain > 1_024 { storedRun = 15 }
  }
}
