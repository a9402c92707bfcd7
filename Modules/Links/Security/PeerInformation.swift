#if TLS
  package import CRDTCore
  import SwiftASN1
  import X509

  /// The information about a peer that a login service gives to all others, in a certificate extension.
  ///
  /// The extension is not critical: nothing depends on it. It holds a JSON object as text.
  package enum PeerInformation {
    /// The number after that of `PeerExtension`.
    static let identifier: ASN1ObjectIdentifier = [2, 25, 7_306_214_925_331_874_204]
    /// The maximum size of the JSON in bytes.
    ///
    /// With it a certificate stays below its own limit, even with the longest names.
    package static let byteLimit = 256

    /// The JSON text; `nil` when it is too long.
    static func text(of fields: [TextKey: Value]) -> String? {
      let text = JSON.text(of: .map(fields))
      return text.utf8.count <= byteLimit ? text : nil
    }

    /// Whether a certificate has room for it.
    package static func fits(_ fields: [TextKey: Value]) -> Bool { text(of: fields) != nil }

    /// Reads the information of a certificate; empty when there is none.
    ///
    /// - Throws: An error that says why it cannot be read.
    static func read(_ certificate: Certificate) throws -> [TextKey: Value] {
      guard let found = certificate.extensions[oid: identifier] else { return [:] }
      let text = try ASN1UTF8String(derEncoded: found.value)
      let bytes = Array(text.bytes)
      guard bytes.count <= byteLimit, case .map(let fields) = try JSON.parse(bytes) else {
        throw ASN1Error.invalidASN1Object(reason: "the peer's information is no JSON object, or too long")
      }
      return fields
    }

    /// Encodes it as an extension of a certificate; `nil` when it is empty.
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
