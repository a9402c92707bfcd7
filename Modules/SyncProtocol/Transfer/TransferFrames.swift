import CRDTCore

/// What a receiver has staged of a large transaction, by the names of its chunks.
struct StagedNotice {
  let grain: Int
  var names: [UInt64]
  /// The number of bytes after the last chunk.
  let tailBytes: Int
  let tailName: UInt64

  /// Describes staged bytes to a peer.
  ///
  /// The names of chunks disclose who has the same bytes. Therefore the bytes must come from this very peer,
  /// or all of their collections may flow to it. The policy must also accept all of the collections.
  ///
  /// - Returns: `nil` where these conditions do not hold.
  init?(_ outline: StagedOutline, for peer: PeerInfo, _ gatekeeper: Gatekeeper) {
    guard outline.collections.allSatisfy({ gatekeeper.mayAccept($0.text) }),
      outline.site == peer.site || outline.collections.allSatisfy({ gatekeeper.maySendAll($0.text) })
    else { return nil }
    grain = outline.grain
    names = outline.names
    tailBytes = outline.tailBytes
    tailName = outline.tailName
  }

  func encode(to out: inout ByteWriter) {
    out.write(UInt8(grain))
    out.writeVarint(names.count)
    for name in names { out.writeName(name) }
    out.writeVarint(tailBytes)
    out.writeName(tailName)
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    grain = Int(try reader.readByte())
    guard ContentChunks.grains.contains(grain) else {
      throw reader.failure(.malformed, "parts of an unknown size")
    }
    names = []
    for _ in 0..<(try reader.readCount(minimumBytes: 6)) { names.append(try reader.readName()) }
    let tail = try reader.readVarint()
    guard tail <= UInt64(1 << (grain + 2)) else { throw reader.failure(.malformed, "a part is too long") }
    tailBytes = Int(tail)
    tailName = try reader.readName()
  }
}

/// A range of a large transaction that the receiver has staged.
struct ReuseFrame {
  private static let learntFlag: UInt8 = 1
  private static let tailFlag: UInt8 = 2

  var transfer: UInt64
  var totalBytes: Int
  var offset: Int
  /// The index of the staged transfer, in the order of the notices.
  var stage: Int
  var first: Int
  var count: Int
  var includesTail: Bool
  /// Whether the dense packers of both ends learn the end of it.
  var isLearnt: Bool
  /// The hash of its bytes.
  var hash: UInt64

  func encode(to out: inout ByteWriter) {
    out.write((isLearnt ? Self.learntFlag : 0) | (includesTail ? Self.tailFlag : 0))
    out.writeVarint(transfer)
    out.writeVarint(totalBytes)
    out.writeVarint(offset)
    out.writeVarint(stage)
    out.writeVarint(first)
    out.writeVarint(count)
    out.writeFixed(hash)
  }
}

extension ReuseFrame {
  init(from reader: inout ByteReader) throws(CodecError) {
    let flags = try reader.readByte()
    guard flags & ~(Self.learntFlag | Self.tailFlag) == 0 else {
      throw reader.failure(.malformed, "a stretch has unknown flags")
    }
    isLearnt = flags & Self.learntFlag != 0
    includesTail = flags & Self.tailFlag != 0
    transfer = try reader.readVarint()
    totalBytes = try reader.readSmall()
    offset = try reader.readSmall()
    stage = try reader.readSmall()
    first = try reader.readSmall()
    count = try reader.readSmall()
    hash = try reader.readFixed()
    guard offset < totalBytes else { throw reader.failure(.malformed, "a stretch lies outside its group") }
  }
}

extension ByteWriter {
  /// Writes six bytes.
  fileprivate mutating func writeName(_ name: UInt64) {
    writeFixed(UInt16(truncatingIfNeeded: name >> 32))
    writeFixed(UInt32(truncatingIfNeeded: name))
  }
}

extension ByteReader {
  fileprivate mutating func readName() throws(CodecError) -> UInt64 {
    let high = try readFixed(as: UInt16.self)
    return UInt64(high) << 32 | UInt64(try readFixed(as: UInt32.self))
  }

  /// Reads a number no greater than the bytes of the largest transaction.
  fileprivate mutating func readSmall() throws(CodecError) -> Int {
    let value = try readVarint()
    guard value <= UInt64(SyncLimits.transactionBytes) else { throw failure(.limit, "a number is too large") }
    return Int(value)
  }
}
