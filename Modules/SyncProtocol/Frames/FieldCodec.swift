import CRDTCore

extension ByteWriter {
  /// Writes the name of a collection, or an empty name if it equals the previous one.
  mutating func writeCollection(_ name: String, after previous: inout String?) {
    writeString(previous.map(name.isSame) == true ? "" : name)
    previous = name
  }
}

extension ByteReader {
  /// Reads a string of at most `limit` bytes.
  mutating func readString(limit: Int) throws(CodecError) -> String {
    let start = offset
    let string = try readString()
    guard string.utf8.count <= limit else { throw CodecError(.limit, "a name is too long", at: start) }
    return string
  }

  mutating func readCollection(after previous: inout String?) throws(CodecError) -> String {
    let start = offset
    let name = try readString(limit: Limits.collectionNameBytes)
    if name.isEmpty {
      guard let previous else { throw CodecError(.malformed, "a collection has no name", at: start) }
      return previous
    }
    guard CollectionName.maySync(name) else {
      throw CodecError(.malformed, "a collection cannot be synced", at: start)
    }
    previous = name
    return name
  }

  mutating func readDocumentID() throws(CodecError) -> DocumentID {
    let start = offset
    let blob = try readBlob()
    do { return try DocumentID(validating: blob) } catch {
      throw CodecError(error.code, error.message, at: start)
    }
  }

  mutating func readBytesArray(limit: Int) throws(CodecError) -> [UInt8] {
    let start = offset
    let blob = try readBlob()
    guard blob.byteCount <= limit else { throw CodecError(.limit, "a bound is too long", at: start) }
    return unsafe blob.withUnsafeBytes { unsafe Array($0) }
  }

  mutating func readFlag() throws(CodecError) -> Bool {
    let byte = try readByte()
    guard byte <= 1 else { throw failure(.malformed, "a flag is neither set nor clear") }
    return byte == 1
  }

  mutating func expectEnd() throws(CodecError) {
    guard isAtEnd else { throw failure(.malformed, "the frame has bytes left over") }
  }
}

/// The rule for collection names in frames.
package enum CollectionName {
  private static let systemPrefix = Array("__".utf8)
  private static let virtualPrefix = Array("system:".utf8)

  /// Returns whether documents of a collection with this name can be synced; the system's own never are.
  package static func maySync(_ name: String) -> Bool {
    var name = name
    return name.withUTF8 { utf8 in
      guard (1...Limits.collectionNameBytes).contains(utf8.count), unsafe !utf8.contains(0) else {
        return false
      }
      return unsafe !utf8.starts(with: systemPrefix) && !utf8.starts(with: virtualPrefix)
    }
  }
}
