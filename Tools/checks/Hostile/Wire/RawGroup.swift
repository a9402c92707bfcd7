import CRDTCore
import SyncProtocol

/// Groups of documents, and the frames that carry them, with no regard to what the receiver has room for.
enum RawGroup {
  struct Member {
    var collection = "things"
    let id: [UInt8]
    /// 4 is a change that nobody asked for.
    var flags: UInt8 = 0
    let document: [UInt8]

    init(_ id: [UInt8], in collection: String = "things", flags: UInt8 = 0, _ document: [UInt8]) {
      self.collection = collection
      self.id = id
      self.flags = flags
      self.document = document
    }
  }

  /// The encoded id of a text.
  static func id(_ text: String) -> [UInt8] { [3] + Array(text.utf8) }

  static func bytes(_ members: [Member]) -> [UInt8] {
    var out = ByteWriter()
    out.writeVarint(members.count)
    var previous = ""
    for member in members {
      out.writeString(member.collection == previous ? "" : member.collection)
      previous = member.collection
      out.writeBlob(member.id)
      out.write(member.flags)
      out.writeBlob(member.document)
    }
    return out.bytes
  }

  // MARK: - Small groups

  /// A fragment's frame: 0 deflated, 1 stored, 4 dense.
  static func fragment(_ packing: UInt8, plainBytes: Int, _ content: [UInt8]) -> [UInt8] {
    FrameCodec.frame(.fragment, payloadBytes: content.count + 8) { out in
      out.write(packing)
      out.writeVarint(plainBytes)
      out.write(content)
    }
  }

  /// The deflated fragments of a stream of groups, each of 64 KiB plain.
  static func fragments(_ groups: some Sequence<[UInt8]>) -> [[UInt8]] {
    let deflate = RawDeflate()
    var frames: [[UInt8]] = []
    var stream = ByteWriter()
    func cut(_ count: Int) {
      frames.append(fragment(0, plainBytes: count, deflate.next(Array(stream.bytes[..<count]))))
      stream.bytes.removeFirst(count)
    }
    for group in groups {
      stream.writeBlob(group)
      while stream.count >= Limits.fragmentBytes { cut(Limits.fragmentBytes) }
    }
    if stream.count > 0 { cut(stream.count) }
    return frames
  }

  // MARK: - Large groups

  /// The frame of a piece of a large group: 0 deflated, 1 stored, 4 dense.
  static func chunk(
    _ packing: UInt8, transfer: Int = 1, of totalBytes: Int, at offset: Int, plainBytes: Int,
    _ content: [UInt8]
  ) -> [UInt8] {
    FrameCodec.frame(.chunk, payloadBytes: content.count + 20) { out in
      out.write(packing)
      for number in [transfer, totalBytes, offset, plainBytes] { out.writeVarint(number) }
      out.write(content)
    }
  }

  /// The chunks of a large group that does not shrink.
  static func storedChunks(_ group: [UInt8], transfer: Int = 1) -> [[UInt8]] {
    stride(from: 0, to: group.count, by: Limits.fragmentBytes).map { offset in
      let plain = Array(group[offset..<min(offset + Limits.fragmentBytes, group.count)])
      return chunk(1, transfer: transfer, of: group.count, at: offset, plainBytes: plain.count, plain)
    }
  }

  /// The deflated chunks of a large group.
  static func chunks(_ group: [UInt8], transfer: Int = 1) -> [[UInt8]] {
    let deflate = RawDeflate()
    return stride(from: 0, to: group.count, by: Limits.fragmentBytes).map { offset in
      let plain = Array(group[offset..<min(offset + Limits.fragmentBytes, group.count)])
      let packed = deflate.alone(plain, after: group[..<offset])
      return chunk(
        0, transfer: transfer, of: group.count, at: offset, plainBytes: plain.count, packed)
    }
  }
}
