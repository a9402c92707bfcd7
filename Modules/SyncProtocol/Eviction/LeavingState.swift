package import CRDTCore

/// What the store's note says of a document that has left all subscriptions.
package enum LeavingState: Equatable {
  /// It is here and to be evicted, unless it changes after this sequence.
  ///
  /// `isElsewhere` when the peer that it came from has all that was here.
  case leaving(since: UInt64, isElsewhere: Bool)
  /// It was evicted with this state, which none of these queries matched; their names ascend.
  case left(VersionVector, queries: [UInt64])

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
    }
    return out.bytes
  }

  /// Reads a note; `nil` for one of a later release.
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
    default: throw reader.failure(.malformed, "a note of an unknown kind")
    }
  }
}
