package import CRDTCore

/// A presence with a signature, so that other peers can forward it and cannot change it.
public struct SignedPresence: Hashable, Sendable {
  /// The presence.
  public let presence: PeerPresence
  /// The signed bytes.
  package let content: [UInt8]
  /// The signature by the layer above; empty where peers have no keys.
  package let signature: [UInt8]

  /// The maximum number of bytes of a signature.
  package static let signatureBytes = 96

  /// Signs a presence.
  ///
  /// - Parameters:
  ///   - presence: The presence.
  ///   - sign: Returns a signature of at most ``signatureBytes`` for the content.
  /// - Throws: What `sign` throws.
  package init<Failure: Error>(
    _ presence: PeerPresence, sign: ([UInt8]) throws(Failure) -> [UInt8]
  ) throws(Failure) {
    var out = ByteWriter()
    presence.encode(to: &out)
    self.presence = presence
    content = out.bytes
    signature = try sign(content)
    precondition(signature.count <= Self.signatureBytes, "The signature is too long")
  }

  package func encode(to out: inout ByteWriter) {
    out.writeBlob(content)
    out.writeBlob(signature)
  }

  /// Decodes a presence; the layer above verifies the signature.
  package init(from reader: inout ByteReader) throws(CodecError) {
    let start = reader.offset
    let content = try reader.readBlob()
    var inner = ByteReader(content)
    do {
      presence = try PeerPresence(from: &inner)
      try inner.expectEnd()
    } catch {
      throw CodecError(error.code, error.message, at: start)
    }
    self.content = unsafe content.withUnsafeBytes { unsafe Array($0) }
    let signature = try reader.readBlob()
    guard signature.byteCount <= Self.signatureBytes else {
      throw reader.failure(.limit, "a signature is too long")
    }
    self.signature = unsafe signature.withUnsafeBytes { unsafe Array($0) }
  }
}
