import CRDTCore

/// How a piece's plain bytes are packed: the flags of its head.
enum PiecePacking: UInt8 {
  case deflated = 0
  case stored = 1
  case dense = 4

  /// Drops the transaction that was begun; such a frame has no content.
  static let abortFlag: UInt8 = 2
}

/// The head of a fragment of the stream of small transactions: packed with what came before it, or stored.
struct FragmentHead: Hashable {
  /// `nil` when the incomplete transaction at the stream's end is to be dropped.
  var packing: PiecePacking?
  var plainBytes: Int

  func encode(to out: inout ByteWriter) {
    guard let packing else { return out.write(PiecePacking.abortFlag) }
    out.write(packing.rawValue)
    out.writeVarint(plainBytes)
  }

  init(_ packing: PiecePacking?, plainBytes: Int) {
    self.packing = packing
    self.plainBytes = plainBytes
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    guard let packing = try reader.readPacking() else {
      self.init(nil, plainBytes: 0)
      try reader.expectEnd()
      return
    }
    self.init(packing, plainBytes: try reader.readPlainBytes(packing))
    guard packing != .stored || plainBytes == reader.remaining else {
      throw reader.failure(.malformed, "a stored fragment is not as long as it announces")
    }
  }
}

/// The head of a chunk of one large transaction.
struct ChunkHead: Hashable {
  /// `nil` when the transaction is to be dropped.
  var packing: PiecePacking?
  /// The number of the large transaction in this direction, from 1.
  var transfer: UInt64
  /// Plain bytes of the whole transaction.
  var totalBytes = 0
  /// The offset of this chunk in the transaction.
  var offset = 0
  var plainBytes = 0

  func encode(to out: inout ByteWriter) {
    out.write(packing?.rawValue ?? PiecePacking.abortFlag)
    out.writeVarint(transfer)
    guard packing != nil else { return }
    out.writeVarint(totalBytes)
    out.writeVarint(offset)
    out.writeVarint(plainBytes)
  }

  init(_ packing: PiecePacking, transfer: UInt64, totalBytes: Int, offset: Int, plainBytes: Int) {
    self.packing = packing
    self.transfer = transfer
    self.totalBytes = totalBytes
    self.offset = offset
    self.plainBytes = plainBytes
  }

  /// Makes the head that ends a transfer early.
  init(dropping transfer: UInt64) { self.transfer = transfer }

  init(from reader: inout ByteReader) throws(CodecError) {
    packing = try reader.readPacking()
    transfer = try reader.readVarint()
    guard let packing else {
      try reader.expectEnd()
      return
    }
    let total = try reader.readVarint()
    let offset = try reader.readVarint()
    guard total <= UInt64(SyncLimits.transactionBytes) else {
      throw reader.failure(
        .limit, "a group announces \(total) bytes, at most \(SyncLimits.transactionBytes) are allowed")
    }
    guard offset < total else { throw reader.failure(.malformed, "a chunk lies outside its group") }
    totalBytes = Int(total)
    self.offset = Int(offset)
    plainBytes = try reader.readPlainBytes(packing)
    guard plainBytes > 0, plainBytes <= totalBytes - self.offset else {
      throw reader.failure(.malformed, "a chunk lies outside its group")
    }
    guard packing != .stored || plainBytes == reader.remaining else {
      throw reader.failure(.malformed, "a stored chunk is not as long as it announces")
    }
  }
}

extension ByteReader {
  /// - Returns: `nil` if the transaction is to be dropped.
  fileprivate mutating func readPacking() throws(CodecError) -> PiecePacking? {
    let flags = try readByte()
    if flags == PiecePacking.abortFlag { return nil }
    guard let packing = PiecePacking(rawValue: flags) else {
      throw failure(.malformed, "a piece has unknown flags")
    }
    return packing
  }

  fileprivate mutating func readPlainBytes(_ packing: PiecePacking) throws(CodecError) -> Int {
    let count = try readVarint()
    let limit = packing == .dense ? SyncLimits.densePieceBytes : Limits.fragmentBytes
    guard count <= UInt64(limit) else {
      throw failure(.limit, "a piece announces \(count) plain bytes, at most \(limit) are allowed")
    }
    return Int(count)
  }
}
