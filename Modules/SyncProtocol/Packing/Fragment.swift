import CRDTCore

/// A piece of the stream of small groups: packed with what came before it, or stored.
struct FragmentHead: Hashable {
  static let storedFlag: UInt8 = 1

  var isStored: Bool
  var plainBytes: Int

  func encode(to out: inout ByteWriter) {
    out.write(isStored ? Self.storedFlag : 0)
    out.writeVarint(plainBytes)
  }

  init(isStored: Bool, plainBytes: Int) {
    self.isStored = isStored
    self.plainBytes = plainBytes
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    let flags = try reader.readByte()
    guard flags & ~Self.storedFlag == 0 else {
      throw reader.failure(.malformed, "a fragment has unknown flags")
    }
    isStored = flags & Self.storedFlag != 0
    plainBytes = try reader.readPlainBytes()
    guard !isStored || plainBytes == reader.remaining else {
      throw reader.failure(.malformed, "a stored fragment is not as long as it announces")
    }
  }
}

/// A piece of one large group, which decodes from the plain bytes before it alone.
struct ChunkHead: Hashable {
  var isStored: Bool
  /// Counts the large groups of this direction, from 1.
  var transfer: UInt64
  /// Plain bytes of the whole group.
  var totalBytes: Int
  /// Where in the group this piece begins.
  var offset: Int
  var plainBytes: Int

  func encode(to out: inout ByteWriter) {
    out.write(isStored ? FragmentHead.storedFlag : 0)
    out.writeVarint(transfer)
    out.writeVarint(totalBytes)
    out.writeVarint(offset)
    out.writeVarint(plainBytes)
  }

  init(isStored: Bool, transfer: UInt64, totalBytes: Int, offset: Int, plainBytes: Int) {
    self.isStored = isStored
    self.transfer = transfer
    self.totalBytes = totalBytes
    self.offset = offset
    self.plainBytes = plainBytes
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    let flags = try reader.readByte()
    guard flags & ~FragmentHead.storedFlag == 0 else {
      throw reader.failure(.malformed, "a chunk has unknown flags")
    }
    isStored = flags & FragmentHead.storedFlag != 0
    transfer = try reader.readVarint()
    let total = try reader.readVarint()
    let offset = try reader.readVarint()
    guard total <= UInt64(SyncLimits.groupBytes) else {
      throw reader.failure(
        .limit, "a group announces \(total) bytes, at most \(SyncLimits.groupBytes) are allowed")
    }
    guard offset < total else { throw reader.failure(.malformed, "a chunk lies outside its group") }
    totalBytes = Int(total)
    self.offset = Int(offset)
    plainBytes = try reader.readPlainBytes()
    guard plainBytes > 0, plainBytes <= totalBytes - self.offset else {
      throw reader.failure(.malformed, "a chunk lies outside its group")
    }
    guard !isStored || plainBytes == reader.remaining else {
      throw reader.failure(.malformed, "a stored chunk is not as long as it announces")
    }
  }
}

extension ByteReader {
  fileprivate mutating func readPlainBytes() throws(CodecError) -> Int {
    let count = try readVarint()
    guard count <= UInt64(Limits.fragmentBytes) else {
      throw failure(
        .limit, "a piece announces \(count) plain bytes, at most \(Limits.fragmentBytes) are allowed")
    }
    return Int(count)
  }
}
