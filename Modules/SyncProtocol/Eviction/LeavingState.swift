package import CRDTCore

/// The state of a document that has left all subscriptions, as its leaving note stores it.
package enum LeavingState: Equatable {
  /// The document is stored here and will be evicted, unless it changes after this sequence number.
  ///
  /// `isElsewhere` is true if the peer that sent it has everything that was here.
  case leaving(since: UInt64, isElsewhere: Bool)
  /// The document was evicted with this version vector, which none of the queries matched.
  ///
  /// The queries are given by their hashes, in ascending order.
  case left(VersionVector, queries: [UInt64])
  /// The document was evicted because this peer's grant does not let it read it any more.
  ///
  /// No state within the version is taken again from anybody. `hash` is that of the evicted state, and `nil`
  /// if there was none.
  case withdrawn(VersionVector, hash: UInt64?)

  var bytes: [UInt8] {
    var out = ByteWriter()
    switch self {
    case .leaving(let since, let isElsewhere):
      out.write(0 as UInt8)
      out.write(isElsewhere ? 1 as UInt8 : 0)
      out.writeFixed(since)
    case .left(let vector, let queries):
      out.write(1 as UInt8)
      out.writeVarint(queries.count)
      for query in queries { out.writeFixed(query) }
      vector.encode(to: &out)
    case .withdrawn(let vector, let hash):
      out.write(2 as UInt8)
      out.write(hash == nil ? 0 as UInt8 : 1)
      if let hash { out.writeFixed(hash) }
      vector.encode(to: &out)
    }
    return out.bytes
  }

  /// Reads a note; `nil` for a kind from a later release.
  package init?(_ bytes: [UInt8]) {
    var reader = ByteReader(bytes.span.bytes)
    guard let state = try? Self.read(&reader) else { return nil }
    self = state
  }

  private static func read(_ reader: inout ByteReader) throws(CodecError) -> LeavingState {
    switch try reader.readByte() {
    case 0:
      let isElsewhere = try reader.readFlag()
      return .leaving(since: try reader.readFixed(as: UInt64.self), isElsewhere: isElsewhere)
    case 1:
      var queries: [UInt64] = []
      for _ in 0..<(try reader.readCount(minimumBytes: 8)) {
        queries.append(try reader.readFixed(as: UInt64.self))
      }
      return .left(try VersionVector(from: &reader), queries: queries)
    case 2:
      let hash = try reader.readFlag() ? try reader.readFixed(as: UInt64.self) : nil
      return .withdrawn(try VersionVector(from: &reader), hash: hash)
    default: throw reader.failure(.malformed, "a note of an unknown kind")
    }
  }
}
