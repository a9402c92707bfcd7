import CRDTCore

/// A part of a large group with the heads of its documents first, and then what they say.
///
/// A head tells why a document is sent, which is another reason after a link broke; what the document says is the same
/// bytes then, and need not come again.
enum PartColumns {
  /// Takes documents apart that each follow their head.
  static func split(_ documents: RawSpan, count: Int) -> [UInt8] {
    var heads = ByteWriter(capacity: count * 32)
    var contents = ByteWriter(capacity: documents.byteCount)
    var reader = ByteReader(documents)
    do throws(CodecError) {
      for _ in 0..<count {
        let start = reader.offset
        try reader.skipDocumentHead()
        let end = reader.offset
        heads.write(documents.extracting(start..<end))
        _ = try reader.readBlob()
        contents.write(documents.extracting(end..<reader.offset))
      }
    } catch {
      preconditionFailure("A group that was just encoded is none: \(error)")
    }
    return heads.bytes + contents.bytes
  }

  /// Where the heads end in what may be only the beginning of a group; `nil` in others, and where the end is not there.
  static func headsEnd(in group: ArraySlice<UInt8>) -> Int? {
    guard group.starts(with: [0, GroupEncoder.partForm]) else { return nil }
    var reader = ByteReader(group.span.bytes, offset: 2)
    do throws(CodecError) {
      _ = try ComponentPart(from: &reader)
      for _ in 0..<(try reader.readVarint()) { try reader.skipDocumentHead() }
    } catch {
      return nil
    }
    return group.startIndex + reader.offset
  }
}

extension ByteReader {
  /// Passes over a document's collection, id and flags, and the check that they may announce.
  mutating func skipDocumentHead() throws(CodecError) {
    for _ in 0..<2 { _ = try readBlob() }
    if try readByte() & GroupEncoder.checkFlag != 0 { _ = try readBytes(4) }
  }
}
