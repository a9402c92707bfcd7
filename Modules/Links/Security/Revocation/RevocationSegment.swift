#if TLS
  package import CRDTCore
  import Crypto

  /// A part of a revocation list: up to 1,000 entries, of which each has its length before it.
  ///
  /// Entries are only added at the end. A full segment never changes.
  package struct RevocationSegment: Hashable, Sendable {
    /// The most entries of a segment.
    package static let entryLimit = 1_000
    /// The most bytes of a segment; the length of an entry takes up to two.
    static let byteLimit = entryLimit * (RevocationEntry.byteLimit + 2)

    /// The encoded entries.
    package let bytes: [UInt8]
    /// The entries in their order.
    package let entries: [RevocationEntry]
    /// The SHA-256 of the bytes, by which a head names the segment.
    let hash: [UInt8]

    /// Encodes entries, of which there are at most ``entryLimit``.
    package init(_ entries: some Sequence<RevocationEntry>) {
      var out = ByteWriter()
      self.entries = Array(entries)
      precondition(self.entries.count <= Self.entryLimit, "A segment has too many entries")
      for entry in self.entries { entry.encode(to: &out) }
      bytes = out.bytes
      hash = Self.hash(of: out.bytes)
    }

    /// Reads a segment.
    ///
    /// - Throws: `CodecError` with what is wrong.
    package init(bytes: [UInt8]) throws(CodecError) {
      guard bytes.count <= Self.byteLimit else {
        throw CodecError(.limit, "a segment has more than \(Self.byteLimit) bytes")
      }
      var reader = ByteReader(bytes.span.bytes)
      var entries: [RevocationEntry] = []
      while !reader.isAtEnd {
        guard entries.count < Self.entryLimit else {
          throw CodecError(.limit, "a segment has more than \(Self.entryLimit) entries", at: reader.offset)
        }
        entries.append(try RevocationEntry(from: &reader))
      }
      (self.bytes, self.entries, hash) = (bytes, entries, Self.hash(of: bytes))
    }

    static func hash(of bytes: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: bytes)) }
  }
#endif
