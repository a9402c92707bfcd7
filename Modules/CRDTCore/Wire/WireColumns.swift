/// A wire document split into its content and its stamps.
///
/// A wire document encodes the stamps of all entries relative to its life and by places in its vector. So a
/// new life, or a new writer, changes the bytes of every entry. After the split, an entry's content has the
/// same bytes until the entry is written.
package struct WireColumns {
  /// The keys, kinds and values of all entries.
  package let content: [UInt8]
  /// The head, and the stamps of all entries.
  package let stamps: [UInt8]

  /// Splits a document.
  ///
  /// - Returns: `nil` for an operation delta, which has no such parts.
  /// - Throws: `malformed`, `truncated` or `limit` for anything other than a document.
  /// - Complexity: O(*n*).
  package init?(splitting wire: RawSpan) throws(CodecError) {
    guard wire.byteCount > 0, try WireColumnWalk.isState(wire) else { return nil }
    (content, stamps) = try WireColumnWalk.split(wire)
  }

  /// Joins the parts to a document of at most `limit` bytes, and does not check that it is canonical.
  ///
  /// Reading the document checks that.
  ///
  /// - Throws: `malformed`, `truncated` or `limit` for anything other than a document, or one that is too
  ///   long.
  /// - Complexity: O(*n*).
  package static func joined(
    _ content: RawSpan, _ stamps: RawSpan, limit: Int
  ) throws(CodecError) -> [UInt8] {
    try WireColumnWalk.join(content, stamps, limit: limit)
  }
}

/// One walk through the entries, for splitting and for joining.
private struct WireColumnWalk: ~Escapable {
  /// How an entry's stamp is encoded.
  private enum Mark {
    static let life: UInt8 = 0
    static let own: UInt8 = 1
    /// The last stamp that was encoded explicitly.
    static let same: UInt8 = 2
  }

  /// The document, or its content.
  private var main: ByteReader
  /// The stamps, if the walk joins.
  private var side: ByteReader
  private let isJoining: Bool
  private let limit: Int
  private var out = ByteWriter()
  private var stamps = ByteWriter()
  private var isUniform = false
  private var lastStamp: [UInt8] = []

  @_lifetime(copy main, copy side)
  private init(_ main: RawSpan, _ side: RawSpan, isJoining: Bool, limit: Int) {
    self.main = ByteReader(main)
    self.side = ByteReader(side)
    self.isJoining = isJoining
    self.limit = limit
  }

  static func isState(_ wire: RawSpan) throws(CodecError) -> Bool {
    var reader = ByteReader(wire)
    return try reader.readByte() & ~WireWriter.knownFlags == 0
  }

  static func split(_ wire: RawSpan) throws(CodecError) -> (content: [UInt8], stamps: [UInt8]) {
    var walk = WireColumnWalk(wire, wire, isJoining: false, limit: .max)
    let head = try walk.readHead()
    walk.stamps.writeVarint(head)
    walk.stamps.write(wire.extracting(0..<head))
    try walk.moveEntries(depth: 0)
    guard walk.main.isAtEnd else { throw walk.main.failure(.malformed, "a document has bytes left over") }
    return (walk.out.bytes, walk.stamps.bytes)
  }

  static func join(_ content: RawSpan, _ stamps: RawSpan, limit: Int) throws(CodecError) -> [UInt8] {
    var walk = WireColumnWalk(content, stamps, isJoining: true, limit: limit)
    let head = try walk.side.readBlob()
    guard head.byteCount > 0, try isState(head) else {
      throw walk.side.failure(.malformed, "a document has unknown flags")
    }
    walk.out.write(head)
    walk.isUniform = try isUniform(head)
    try walk.moveEntries(depth: 0)
    guard walk.main.isAtEnd, walk.side.isAtEnd else {
      throw walk.main.failure(.malformed, "a document has bytes left over")
    }
    return walk.out.bytes
  }

  private static func isUniform(_ wire: RawSpan) throws(CodecError) -> Bool {
    var reader = ByteReader(wire)
    return try reader.readByte() & WireWriter.uniformFlag != 0
  }

  /// Skips the part before the entries.
  ///
  /// - Returns: Its length.
  private mutating func readHead() throws(CodecError) -> Int {
    let flags = try main.readByte()
    isUniform = flags & WireWriter.uniformFlag != 0
    _ = try main.readBytes(8)
    if isUniform {
      _ = try main.readBytes(16)
      return main.offset
    }
    for _ in 0..<(try main.readCount(minimumBytes: 16)) { _ = try main.readBytes(16) }
    for _ in 0..<(flags & WireWriter.baseFlag == 0 ? 1 : 2) {
      for _ in 0..<(try main.readCount(minimumBytes: 3)) {
        for _ in 0..<3 { _ = try main.readVarint() }
      }
    }
    _ = try main.readVarint()
    if flags & WireWriter.floorFlag != 0 {
      for _ in 0..<2 { _ = try main.readVarint() }
    }
    return main.offset
  }

  private mutating func moveEntries(depth: Int) throws(CodecError) {
    guard depth <= Limits.depth else { throw main.failure(.limit, "a document is nested too deep") }
    let count = try main.readCount(minimumBytes: 2)
    out.writeVarint(count)
    for _ in 0..<count {
      let key = try main.readBlob()
      out.writeVarint(key.byteCount)
      out.write(key)
      try moveNode(depth: depth + 1)
      guard out.count <= limit else { throw main.failure(.limit, "a document is too long") }
    }
  }

  private mutating func moveNode(depth: Int) throws(CodecError) {
    let tag = try main.readByte()
    let kind = tag & WireWriter.kindMask
    if isJoining {
      guard tag & WireWriter.stampFlag == 0 else {
        throw main.failure(.malformed, "an entry's stamp is told twice")
      }
      try joinStamp(tag, bearsOne: !isUniform && kind != WireWriter.emptyKind)
    } else {
      out.write(tag & ~WireWriter.stampFlag)
      if !isUniform, kind != WireWriter.emptyKind { try splitStamp(tag) }
    }
    try moveContent(kind, depth)
    if tag & WireWriter.floorTagFlag != 0 { try moveStamp() }
    if kind == WireWriter.mapKind || tag & WireWriter.childrenFlag != 0 { try moveEntries(depth: depth) }
  }

  private mutating func splitStamp(_ tag: UInt8) throws(CodecError) {
    guard tag & WireWriter.stampFlag != 0 else { return stamps.write(Mark.life) }
    let stamp = try Self.readStamp(&main)
    if stamp == lastStamp { return stamps.write(Mark.same) }
    lastStamp = stamp
    stamps.write(Mark.own)
    stamps.write(stamp)
  }

  private mutating func joinStamp(_ tag: UInt8, bearsOne: Bool) throws(CodecError) {
    let mark = bearsOne ? try side.readByte() : Mark.life
    switch mark {
    case Mark.life: return out.write(tag)
    case Mark.own: lastStamp = try Self.readStamp(&side)
    case Mark.same: break
    default: throw side.failure(.malformed, "an entry has an unknown mark")
    }
    guard !lastStamp.isEmpty else { throw side.failure(.malformed, "an entry repeats no stamp") }
    out.write(tag | WireWriter.stampFlag)
    out.write(lastStamp)
  }

  /// Reads the bytes of a stamp: a place in the vector and a distance, or 0 alone.
  private static func readStamp(_ reader: inout ByteReader) throws(CodecError) -> [UInt8] {
    var stamp = ByteWriter(capacity: 12)
    let place = try reader.readVarint()
    stamp.writeVarint(place)
    if place > 0 { stamp.writeVarint(try reader.readVarint()) }
    return stamp.bytes
  }

  /// Moves the writer and the time of a contribution to a counter.
  ///
  /// They include the birth of a writer that the vector does not list.
  private mutating func moveContributor() throws(CodecError) {
    func move(_ reader: inout ByteReader, to out: inout ByteWriter) throws(CodecError) {
      let place = try reader.readVarint()
      out.writeVarint(place)
      for _ in 0..<(place == 0 ? 3 : 1) { out.writeVarint(try reader.readVarint()) }
    }
    if isJoining { try move(&side, to: &out) } else { try move(&main, to: &stamps) }
  }

  /// Moves a stamp that is always explicit.
  private mutating func moveStamp() throws(CodecError) {
    if isJoining {
      out.write(try Self.readStamp(&side))
    } else {
      stamps.write(try Self.readStamp(&main))
    }
  }

  private mutating func moveContent(_ kind: UInt8, _ depth: Int) throws(CodecError) {
    switch kind {
    case WireWriter.mapKind, WireWriter.removedKind, WireWriter.emptyKind: return
    case WireWriter.counterKind:
      out.writeVarint(try main.readVarint())
      let count = try main.readCount(minimumBytes: isJoining ? 1 : 3)
      out.writeVarint(count)
      for _ in 0..<count {
        try moveContributor()
        out.writeVarint(try main.readVarint())
      }
    default:
      guard let tag = ValueCodec.Tag(rawValue: kind), tag != .map, tag != .counter else {
        throw main.failure(.malformed, "an entry has an unknown kind")
      }
      let start = main.offset
      _ = try ValueCodec.readContent(tag, &main, depth: depth)
      let end = main.offset
      out.write(main.bytes.extracting(start..<end))
    }
  }
}
