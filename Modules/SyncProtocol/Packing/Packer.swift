import CRDTCore
import Failpoints

/// Turns groups into fragments and chunks.
final class Packer {
  /// How much plain text before a chunk helps to compress it.
  static let dictionaryBytes = 32 << 10
  /// Pieces of fewer bytes are not worth handing to another thread.
  static let jobBytes = 16 << 10
  /// What is kept of the stream's window at rest: enough for a document or two like those that went out last.
  static let restedBytes = 4 << 10
  var policy: PackingPolicy
  private var stream: Deflater?
  /// The end of the stream's window when its compressor was freed.
  private var window: [UInt8] = []
  private var bench = PackBench()
  private lazy var dense = DenseCoder()
  /// Pieces to send stored, because the last packed one did not shrink.
  private var storedRun = 0

  /// A piece in its frame.
  struct Piece {
    let frame: [UInt8]
    /// Without the frame around it.
    let packedBytes: Int
  }

  init(level: Int?, isLocal: Bool, patience: Duration = SyncTuning().packingPatience) {
    policy = PackingPolicy(level: level, isLocal: isLocal, patience: patience)
  }

  /// Frees the compressors, which take a quarter of a mebibyte each: a session may send nothing for hours.
  func rest() throws(SyncError) {
    bench = PackBench()
    guard let stream else { return }
    // The other end has it in its window too.
    window = try stream.window(limit: Self.restedBytes)
    self.stream = nil
  }

  /// Packs the next piece of the stream of small groups into a frame.
  ///
  /// Whether it is stored is settled before the compressor sees it: what one end's window holds, the
  /// other's must hold too.
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

  /// A piece of a large group, packed or to be packed elsewhere.
  enum Chunk {
    case packed(PackingLine.Content)
    case job(level: Int)
  }

  /// Packs the bytes of a large group from `offset` on, or leaves that to others if it may; `goesNext` says that no
  /// other piece goes out before it.
  func chunk(
    of group: RawSpan, offset: Int, plainBytes: Int, rate: Double?, isBulk: Bool, mayLeave: Bool,
    goesNext: Bool
  ) throws(SyncError) -> Chunk {
    let plain = group.extracting(offset..<offset + plainBytes)
    var choice = chunkChoice(rate: rate, isBulk: isBulk)
    if choice == .dense {
      // The model goes by the order of the wire; of what does not shrink it learns nothing.
      if storedRun > 0 { choice = .stored } else if !goesNext { choice = .deflated(level: 9) }
    }
    switch choice {
    case .stored:
      storedRun = max(storedRun - 1, 0)
      return .packed(.piece(nil, .stored))
    case .dense: return .packed(.piece(packDense(plain), .dense))
    case .deflated(let level):
      if mayLeave, plainBytes >= Self.jobBytes { return .job(level: level) }
      let before = group.extracting(max(0, offset - Self.dictionaryBytes)..<offset)
      return .packed(.deflated(try bench.pack(plain, after: before, level: level)))
    }
  }

  /// The frame of a packed piece; `packed` is `nil` for one that goes as it is.
  func frame(_ head: ChunkHead, _ packed: [UInt8]?, of group: RawSpan) -> Piece {
    let plain = group.extracting(head.offset..<head.offset + head.plainBytes)
    let count = packed?.count ?? head.plainBytes
    let frame = FrameCodec.frame(.chunk, payloadBytes: count + 16) { out in
      head.encode(to: &out)
      if let packed { out.write(packed) } else { out.write(plain) }
    }
    return Piece(frame: frame, packedBytes: count)
  }

  /// How a piece of a large group is packed: as over a slow link while the link may well be one.
  private func chunkChoice(rate: Double?, isBulk: Bool) -> PackingPolicy.Choice {
    policy.choice(rate: rate ?? (policy.isLongLink ? 0 : nil), for: isBulk ? .bulk : .large)
  }

  /// The most plain bytes of a piece.
  func pieceLimit(rate: Double?) -> Int {
    chunkChoice(rate: rate, isBulk: false) == .dense
      ? SyncLimits.densePieceBytes : SyncLimits.smallGroupBytes
  }

  /// Learns bytes that are not sent because the peer has them, where it packs densely.
  ///
  /// - Returns: Whether it does, so that the other end must learn them, too.
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
