#if TLS
  import CRDTCore

  /// A message by which two peers exchange revocation lists; `Documentation/Revocation.md` has the format.
  enum RevocationMessage: Hashable, Sendable {
    /// The heads that the sender has, whenever they change.
    case heads([HeadName])
    /// Requests the sender's head of an issuer.
    case wantHead(token: UInt64, issuer: [UInt8])
    /// A head.
    case head(token: UInt64, [UInt8])
    /// Requests bytes of a segment of a head.
    case wantSegment(token: UInt64, head: HeadName, index: Int, offset: Int)
    /// Bytes of a segment, from an offset; `total` is the number of the segment's bytes.
    case piece(token: UInt64, index: Int, offset: Int, total: Int, [UInt8])
    /// The requested head is not there any more; another one follows or has been named.
    case gone(token: UInt64)

    /// What a peer says of a head that it has, in the shortest form.
    struct HeadName: Hashable, Sendable {
      /// The first bytes of the issuer's hash.
      let issuer: [UInt8]
      let number: UInt64
      let count: UInt64
      /// The first bytes of the head's SHA-256.
      let digest: [UInt8]

      init(_ head: RevocationHead) {
        (issuer, number, count, digest) = (head.issuer.short, head.number, UInt64(head.count), head.digest)
      }

      func encode(to out: inout ByteWriter) {
        out.write(issuer)
        out.writeVarint(number)
        out.writeVarint(count)
        out.write(digest)
      }

      init(from reader: inout ByteReader) throws(CodecError) {
        issuer = RevocationEntry.copy(try reader.readBytes(AuthorityHash.shortBytes))
        number = try reader.readVarint()
        count = try reader.readVarint()
        digest = RevocationEntry.copy(try reader.readBytes(RevocationHead.shortDigestBytes))
      }
    }

    /// The most heads of one message.
    static let headLimit = 64
    /// The most bytes of a message.
    static let byteLimit = 68 << 10

    var bytes: [UInt8] {
      var out = ByteWriter()
      switch self {
      case .heads(let heads):
        out.write(0)
        out.writeVarint(heads.count)
        for head in heads { head.encode(to: &out) }
      case .wantHead(let token, let issuer):
        out.write(1)
        out.writeFixed(token)
        out.write(issuer)
      case .head(let token, let head):
        out.write(2)
        out.writeFixed(token)
        out.writeBlob(head)
      case .wantSegment(let token, let head, let index, let offset):
        out.write(3)
        out.writeFixed(token)
        head.encode(to: &out)
        out.writeVarint(index)
        out.writeVarint(offset)
      case .piece(let token, let index, let offset, let total, let bytes):
        out.write(4)
        out.writeFixed(token)
        out.writeVarint(index)
        out.writeVarint(offset)
        out.writeVarint(total)
        out.writeBlob(bytes)
      case .gone(let token):
        out.write(5)
        out.writeFixed(token)
      }
      return out.bytes
    }

    /// Reads a message; `nil` for a kind of a later release.
    ///
    /// Bytes after the known fields are skipped.
    ///
    /// - Throws: `CodecError` with what is wrong.
    static func read(_ bytes: [UInt8]) throws(CodecError) -> RevocationMessage? {
      guard bytes.count <= byteLimit else { throw CodecError(.limit, "a message is too long") }
      var reader = ByteReader(bytes.span.bytes)
      switch try reader.readByte() {
      case 0:
        let count = try reader.readCount(minimumBytes: 14)
        guard count <= headLimit else { throw reader.failure(.limit, "a message names too many heads") }
        var heads: [HeadName] = []
        for _ in 0..<count { heads.append(try HeadName(from: &reader)) }
        return .heads(heads)
      case 1:
        return .wantHead(
          token: try reader.readFixed(),
          issuer: RevocationEntry.copy(try reader.readBytes(AuthorityHash.shortBytes)))
      case 2: return .head(token: try reader.readFixed(), RevocationEntry.copy(try reader.readBlob()))
      case 3:
        let (token, head) = (try reader.readFixed(as: UInt64.self), try HeadName(from: &reader))
        return .wantSegment(
          token: token, head: head, index: try readNumber(&reader), offset: try readNumber(&reader))
      case 4:
        let token = try reader.readFixed(as: UInt64.self)
        let (index, offset, total) = (
          try readNumber(&reader), try readNumber(&reader), try readNumber(&reader)
        )
        return .piece(
          token: token, index: index, offset: offset, total: total,
          RevocationEntry.copy(try reader.readBlob()))
      case 5: return .gone(token: try reader.readFixed())
      default: return nil
      }
    }

    /// Reads a number that is at most the size of a segment.
    private static func readNumber(_ reader: inout ByteReader) throws(CodecError) -> Int {
      let number = try reader.readVarint()
      guard number <= UInt64(RevocationSegment.byteLimit) else {
        throw reader.failure(.limit, "a number exceeds the size of a segment")
      }
      return Int(number)
    }
  }
#endif
