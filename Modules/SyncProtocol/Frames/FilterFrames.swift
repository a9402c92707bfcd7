import CRDTCore

/// Asks the other end to report the documents that it holds of a collection, beginning with a filter.
struct FilterAsk: Hashable, Sendable {
  /// The role of the asker; the filter is for the other role.
  var role: NoticeHalf.Role
  /// Identifies the request within its role and collection; rises during a session.
  var number: UInt64
  @TextKey var collection: String
  /// About how many documents the asker holds in its role.
  var count: UInt64
  /// Bytes of notices that the asker has sent since the last change of sides, or would have to send.
  var spent: UInt64

  /// Makes a request about a collection that the gate lets through.
  init(_ cleared: consuming Cleared, role: NoticeHalf.Role, number: UInt64, count: UInt64, spent: UInt64) {
    self.role = role
    self.number = number
    self.count = count
    self.spent = spent
    collection = cleared.collection
  }

  func encode(to out: inout ByteWriter) {
    out.write(role.rawValue)
    out.writeVarint(number)
    out.writeString(collection)
    out.writeVarint(count)
    out.writeVarint(spent)
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    guard let role = NoticeHalf.Role(rawValue: try reader.readByte()) else {
      throw reader.failure(.malformed, "an ask for a filter is of an unknown role")
    }
    self.role = role
    number = try reader.readVarint()
    var previous: String?
    collection = try reader.readCollection(after: &previous)
    count = try reader.readVarint()
    spent = try reader.readVarint()
  }
}

/// A chunk of a filter, or the refusal to make one.
struct FilterFrame: Hashable, Sendable {
  /// A chunk of a filter.
  struct Chunk: Hashable, Sendable {
    var totalBytes: Int
    var offset: Int
    var bytes: [UInt8]
  }

  enum Body: Hashable, Sendable {
    case chunk(Chunk)
    /// The filter would cost `price` bytes, more than the asker's notices.
    case refused(price: UInt64)
  }

  /// The role of the asker, as in its request.
  var role: NoticeHalf.Role
  var number: UInt64
  @TextKey var collection: String
  var body: Body

  private init(_ role: NoticeHalf.Role, number: UInt64, _ collection: String, _ body: Body) {
    self.role = role
    self.number = number
    self.body = body
    self.collection = collection
  }

  /// Makes the frames of a filter of the documents held here.
  static func frames(
    _ cleared: consuming Cleared, role: NoticeHalf.Role, number: UInt64, _ filter: IDFilter
  ) -> [FilterFrame] {
    let collection = cleared.collection
    let bytes = filter.bytes
    return stride(from: 0, to: bytes.count, by: SyncLimits.filterPieceBytes).map { offset in
      let chunk = Chunk(
        totalBytes: bytes.count, offset: offset,
        bytes: Array(bytes[offset..<min(offset + SyncLimits.filterPieceBytes, bytes.count)]))
      return FilterFrame(role, number: number, collection, .chunk(chunk))
    }
  }

  /// Makes the answer of a peer that has nothing to report.
  static func nothing(role: NoticeHalf.Role, number: UInt64, _ collection: String) -> FilterFrame {
    FilterFrame(
      role, number: number, collection, .chunk(Chunk(totalBytes: 1, offset: 0, bytes: [0])))
  }

  static func refused(
    role: NoticeHalf.Role, number: UInt64, _ collection: String, price: UInt64
  ) -> FilterFrame {
    FilterFrame(role, number: number, collection, .refused(price: price))
  }

  func encode(to out: inout ByteWriter) {
    switch body {
    case .chunk(let chunk):
      out.write(role.rawValue)
      out.writeVarint(number)
      out.writeString(collection)
      out.writeVarint(chunk.totalBytes)
      out.writeVarint(chunk.offset)
      out.writeBlob(chunk.bytes)
    case .refused(let price):
      out.write(role.rawValue | 2)
      out.writeVarint(number)
      out.writeString(collection)
      out.writeVarint(price)
    }
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    let kind = try reader.readByte()
    guard kind <= 3, let role = NoticeHalf.Role(rawValue: kind & 1) else {
      throw reader.failure(.malformed, "a filter is of an unknown kind")
    }
    self.role = role
    number = try reader.readVarint()
    var previous: String?
    collection = try reader.readCollection(after: &previous)
    guard kind < 2 else {
      body = .refused(price: try reader.readVarint())
      return
    }
    let total = try reader.readVarint()
    let offset = try reader.readVarint()
    let bytes = try reader.readBytesArray(limit: SyncLimits.filterPieceBytes)
    guard 1...UInt64(SyncLimits.filterBytes) ~= total, offset < total, !bytes.isEmpty,
      UInt64(bytes.count) <= total - offset
    else { throw reader.failure(.limit, "a filter's part lies outside it") }
    body = .chunk(Chunk(totalBytes: Int(total), offset: Int(offset), bytes: bytes))
  }
}
