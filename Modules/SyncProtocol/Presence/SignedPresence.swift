package import CRDTCore

/// What a peer says of itself, with its signature, so that others can pass it on and nobody can change it.
public struct SignedPresence: Hashable, Sendable {
  /// What it says.
  public let presence: PeerPresence
  /// The bytes that are signed.
  package let content: [UInt8]
  /// What the layer above signs with; empty where nobody proves anything.
  package let signature: [UInt8]

  /// Bytes of a signature.
  package static let signatureBytes = 96

  /// Signs what a peer says.
  ///
  /// - Parameters:
  ///   - presence: What it says.
  ///   - sign: Makes at most ``signatureBytes`` of the content's bytes.
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

  /// Reads what a peer says; whether the signature is right is for the layer above to find.
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
