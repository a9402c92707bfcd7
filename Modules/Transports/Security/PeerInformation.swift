#if TLS
  package import CRDTCore
  import SwiftASN1
  import X509

  /// What a login service says of a peer to all others, in an extension of the peer's certificate.
  ///
  /// The extension is not critical: nothing depends on it. It holds a JSON object as text.
  package enum PeerInformation {
    /// The number after that of what a certificate says of its peer.
    static let identifier: ASN1ObjectIdentifier = [2, 25, 7_306_214_925_331_874_204]
    /// Bytes of JSON at most, so that a certificate stays below its own limit with the longest names.
    package static let byteLimit = 256

    /// The JSON text; `nil` where it has too many bytes.
    static func text(of fields: [TextKey: Value]) -> String? {
      let text = JSON.text(of: .map(fields))
      return text.utf8.count <= byteLimit ? text : nil
    }

    /// Whether there is room for it in a certificate.
    package static func fits(_ fields: [TextKey: Value]) -> Bool { text(of: fields) != nil }

    /// Finds it in a certificate; empty where there is none.
    ///
    /// - Throws: What says why it cannot be read.
    static func read(_ certificate: Certificate) throws -> [TextKey: Value] {
      guard let found = certificate.extensions[oid: identifier] else { return [:] }
      let text = try ASN1UTF8String(derEncoded: found.value)
      let bytes = Array(text.bytes)
      guard bytes.count <= byteLimit, case .map(let fields) = try JSON.parse(bytes) else {
        throw ASN1Error.invalidASN1Object(reason: "the peer's information is no JSON object, or too long")
      }
      return fields
    }

    /// As an extension of a certificate; `nil` where there is nothing to say.
    static func asExtension(_ fields: [TextKey: Value]) throws -> Certificate.Extension? {
      guard !fields.isEmpty else { return nil }
      guard let text = text(of: fields) else {
        throw LinkError(
          .credentials, "What a certificate says of its peer to others has more than \(byteLimit) bytes")
      }
      var serializer = DER.Serializer()
      try serializer.serialize(ASN1UTF8String(text))
      return Certificate.Extension(oid: identifier, critical: false, value: serializer.serializedBytes[...])
    }
  }
#endif
