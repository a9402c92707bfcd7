extension RecordView {
  /// The number of writers in the version vector; 0 if it cannot be read.
  package var writerCount: Int {
    if isFresh { return 1 }
    var reader = ByteReader(metadata)
    return (try? reader.readByte()).flatMap { _ in try? reader.readCount(minimumBytes: 3) } ?? 0
  }

  /// The ordinal of the site that wrote most of the document, or all of it if the record is fresh.
  package var mainSite: UInt32 { baseSite }

  /// Calls `body` with the ordinals of all sites that the record refers to, some of them more than once.
  ///
  /// - Throws: A `CodecError` when the record is damaged.
  package func forEachSite(_ body: (UInt32) -> Void) throws(CodecError) {
    body(baseSite)
    guard !isFresh else { return }
    var reader = ByteReader(metadata)
    let parts = RecordMetadata.Parts(rawValue: try reader.readByte())
    guard parts.isSubset(of: .known) else {
      throw reader.failure(.unsupportedVersion, "metadata has unknown parts")
    }
    let count = try reader.readCount(minimumBytes: 3)
    for _ in 0..<count {
      body(try reader.readOrdinal())
      try reader.skipTime()
      try reader.skipTime()
    }
    // The places of the base's writer and of the store's own come first.
    for _ in 0..<2 { _ = try reader.readIndex(through: count) }
    if parts.contains(.bareLife) {
      body(try reader.readOrdinal())
      try reader.skipTime()
    } else if parts.contains(.life) {
      let place = try reader.readIndex(through: count + 1)
      if place > 0, place <= count { try reader.skipTime() }
    }
    if parts.contains(.floor) { body(try reader.readOrdinal()) }
  }
}

extension ByteReader {
  fileprivate mutating func readOrdinal() throws(CodecError) -> UInt32 {
    UInt32(try readIndex(through: Int(UInt32.max)))
  }

  /// Skips a clock reading that is stored as its distance from another.
  fileprivate mutating func skipTime() throws(CodecError) {
    if try readVarint() & 1 == 1 { _ = try readVarint() }
  }
}
