#if TLS
  package import CRDTCore
  package import Foundation

  /// A revocation list of one issuer: a signed head, and all segments that it names.
  package struct RevocationList: Hashable, Sendable {
    /// The first bytes of a list's file.
    private static let magic = Array("dunlin revocations\n".utf8)
    /// The most bytes of a list's file.
    package static let fileBytes =
      magic.count + RevocationHead.byteLimit + 3
      + RevocationHead.segmentLimit * (RevocationSegment.byteLimit + 3)

    package let head: RevocationHead
    package let segments: [RevocationSegment]

    /// Combines a head with its segments.
    ///
    /// - Throws: `CodecError` when a segment is not the one that the head names.
    package init(head: RevocationHead, segments: [RevocationSegment]) throws(CodecError) {
      guard head.segments == segments.map(\.hash) else {
        throw CodecError(.malformed, "a segment is not the one that the list's head names")
      }
      for (index, segment) in segments.enumerated() {
        guard segment.entries.count == head.count(ofSegment: index) else {
          throw CodecError(.malformed, "a segment has another number of entries than the list's head says")
        }
      }
      (self.head, self.segments) = (head, segments)
    }

    /// All entries in their order.
    package var entries: [RevocationEntry] { segments.flatMap(\.entries) }

    /// Whether this list has all entries of another one, in the same order, before its own further ones.
    func extends(_ other: RevocationList) -> Bool {
      guard segments.count >= other.segments.count else { return false }
      return zip(segments, other.segments).allSatisfy { new, old in
        new.hash == old.hash || new.bytes.starts(with: old.bytes)
      }
    }

    // MARK: - Making

    /// Makes the next list of an authority.
    ///
    /// It begins with the entries of the former list. Once more than half of these are not needed any more,
    /// they are left out. An entry that the list has already is not added again.
    ///
    /// - Parameters:
    ///   - authority: The authority that issues the list.
    ///   - former: Its former list; `nil` for the first one.
    ///   - entries: The entries to add.
    ///   - now: The time.
    /// - Returns: The list, or the former one if it has all entries already.
    /// - Throws: `credentials` for a former list of another authority, and for an authority of a shared key;
    ///   `limit` for more than 100,000 entries.
    package static func make(
      by authority: PeerAuthority, extending former: RevocationList?, adding entries: [RevocationEntry],
      now: Date
    ) throws(LinkError) -> RevocationList {
      guard authority.trusted.proof != .sharedKey else {
        throw LinkError(.credentials, "Nothing is revoked with a shared key: replace the key at all peers")
      }
      if let former {
        guard former.head.issuer == authority.hash else {
          throw LinkError(
            .credentials,
            "The revocation list is one of the authority \(former.head.issuer), and this authority is \(authority.hash)"
          )
        }
        try former.head.verify(authority.trusted)
      }
      let old = former?.entries ?? []
      let needed = old.filter { $0.isNeeded(at: now - 86_400) }
      var all = needed.count * 2 < old.count ? needed : old
      var known = Set(all)
      for entry in entries where known.insert(entry).inserted { all.append(entry) }
      if let former, all.count == old.count, all == old { return former }
      guard all.count <= RevocationHead.entryLimit else {
        throw LinkError(
          .limit, "A revocation list has at most \(RevocationHead.entryLimit) entries, this one \(all.count)")
      }
      let number = former?.head.number ?? 0
      guard number < UInt64(Int64.max) else {
        throw LinkError(.limit, "A revocation list has no number left for another head")
      }
      let segments = stride(from: 0, to: all.count, by: RevocationSegment.entryLimit).map {
        RevocationSegment(all[$0..<min($0 + RevocationSegment.entryLimit, all.count)])
      }
      let head = try RevocationHead(
        by: authority, number: number + 1, count: all.count, segments: segments.map(\.hash))
      do throws(CodecError) {
        return try RevocationList(head: head, segments: segments)
      } catch {
        throw LinkError(.credentials, "A revocation list cannot be made: \(error.message)")
      }
    }

    // MARK: - Files

    /// The list as a file.
    package var file: [UInt8] {
      var out = ByteWriter()
      out.write(Self.magic)
      out.writeBlob(head.bytes)
      for segment in segments { out.writeBlob(segment.bytes) }
      return out.bytes
    }

    /// Reads a file; the head's signature is not verified.
    ///
    /// - Throws: `malformed` or `limit`, with what is wrong and at which byte.
    package init(file: [UInt8]) throws(LinkError) {
      do throws(CodecError) {
        guard file.count <= Self.fileBytes else {
          throw CodecError(.limit, "it has more than \(Self.fileBytes) bytes")
        }
        guard file.starts(with: Self.magic) else {
          throw CodecError(.malformed, "it is no file with a revocation list")
        }
        var reader = ByteReader(file.span.bytes, offset: Self.magic.count)
        let head = try RevocationHead(bytes: RevocationEntry.copy(try reader.readBlob()))
        var segments: [RevocationSegment] = []
        for _ in head.segments {
          segments.append(try RevocationSegment(bytes: RevocationEntry.copy(try reader.readBlob())))
        }
        guard reader.isAtEnd else { throw reader.failure(.malformed, "it has bytes after its end") }
        try self.init(head: head, segments: segments)
      } catch {
        throw LinkError(
          error.code == .limit ? .limit : .malformed,
          "A revocation list cannot be read: \(error.message) (byte \(error.offset))")
      }
    }
  }
#endif
