import CRDTCore

/// Turns groups into fragments and chunks.
final class Packer {
  /// How much plain text before a chunk helps to compress it.
  static let dictionaryBytes = 32 << 10
  private let level: Int
  private var stream: Deflater?
  private var alone: Deflater?
  /// Fragments to send stored, because the last packed one did not shrink.
  private var storedRun = 0

  init(level: Int) { self.level = (0...9).contains(level) ? level : 1 }

  /// Packs the next piece of the stream of small groups into a frame.
  ///
  /// Whether it is stored is settled before the compressor sees it: what one end's window holds, the
  /// other's must hold too.
  func fragment(_ plain: RawSpan, _ form: FrameForm) throws(SyncError) -> (frame: [UInt8], packedBytes: Int) {
    if level == 0 || storedRun > 0 {
      storedRun = max(storedRun - 1, 0)
      return (fragment(plain, form, isStored: true, plainBytes: plain.byteCount), plain.byteCount)
    }
    let deflater: Deflater
    if let stream { deflater = stream } else { deflater = try Deflater(level: level) }
    stream = deflater
    let packed = try deflater.compressNext(plain)
    if packed.count * 20 > plain.byteCount * 19, plain.byteCount > 1_024 { storedRun = 15 }
    return (fragment(packed.span.bytes, form, isStored: false, plainBytes: plain.byteCount), packed.count)
  }

  private func fragment(
    _ content: RawSpan, _ form: FrameForm, isStored: Bool, plainBytes: Int
  ) -> [UInt8] {
    FrameCodec.frame(.fragment, in: form, payloadBytes: content.byteCount + 4) { out in
      FragmentHead(isStored: isStored, plainBytes: plainBytes).encode(to: &out)
      out.write(content)
    }
  }

  /// Packs the bytes of a large group from `offset` on into a frame.
  func chunk(
    of group: RawSpan, transfer: UInt64, offset: Int, plainBytes: Int, _ form: FrameForm
  ) throws(SyncError) -> (frame: [UInt8], packedBytes: Int) {
    let plain = group.extracting(offset..<offset + plainBytes)
    var packed: [UInt8]?
    if level > 0 {
      let deflater: Deflater
      if let alone { deflater = alone } else { deflater = try Deflater(level: level) }
      alone = deflater
      let before = group.extracting(max(0, offset - Self.dictionaryBytes)..<offset)
      let attempt = try deflater.compressAlone(plain, after: before)
      if attempt.count < plainBytes { packed = attempt }
    }
    let head = ChunkHead(
      isStored: packed == nil, transfer: transfer, totalBytes: group.byteCount, offset: offset,
      plainBytes: plainBytes)
    let frame = FrameCodec.frame(.chunk, in: form, payloadBytes: (packed?.count ?? plainBytes) + 16) { out in
      head.encode(to: &out)
      if let packed { out.write(packed) } else { out.write(plain) }
    }
    return (frame, packed?.count ?? plainBytes)
  }
}

/// The other end of a packer.
final class Unpacker {
  private var stream: Inflater?
  private var alone: Inflater?

  /// Appends a fragment's plain bytes.
  func expand(_ head: FragmentHead, _ content: RawSpan, into output: inout [UInt8]) throws(SyncError) {
    if head.isStored {
      unsafe content.withUnsafeBytes { unsafe output.append(contentsOf: $0) }
      return
    }
    let inflater: Inflater
    if let stream { inflater = stream } else { inflater = try Inflater() }
    stream = inflater
    try inflater.expandNext(content, plainCount: head.plainBytes, into: &output)
  }

  /// Appends a chunk's plain bytes to those of its group before it.
  func expand(_ head: ChunkHead, _ content: RawSpan, onto group: inout [UInt8]) throws(SyncError) {
    if head.isStored {
      unsafe content.withUnsafeBytes { unsafe group.append(contentsOf: $0) }
      return
    }
    let inflater: Inflater
    if let alone { inflater = alone } else { inflater = try Inflater() }
    alone = inflater
    let dictionary = Array(group.suffix(Packer.dictionaryBytes))
    try inflater.expandAlone(content, after: dictionary.span.bytes, plainCount: head.plainBytes, into: &group)
  }
}
