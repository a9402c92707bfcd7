import CRDTCore

/// The two texts of a grant: what the holder of a certificate may do, and the rules that it refers to.
///
/// A certificate holds only the SHA-256 of the first text, and that text the SHA-256 of the second. Links
/// hand the texts over and verify both hashes; what the texts mean is decided in a layer above.
package struct GrantTexts: Hashable, Sendable {
  /// The maximum size of the grant in bytes: 4 KiB of claims, and the rest of its fields.
  package static let grantByteLimit = 5 << 10
  /// The maximum size of the rules in bytes.
  package static let rulesByteLimit = 16 << 10

  /// The grant, a JSON object.
  package let grant: [UInt8]
  /// The rules, which many grants may share; empty when the grant refers to none.
  package let rules: [UInt8]

  /// The bytes of both.
  package var byteCount: Int { grant.count + rules.count }
}

/// The SHA-256 of a grant, as a certificate holds it.
package struct GrantHash: Hashable, Sendable, CustomStringConvertible {
  static let byteCount = 32

  package let bytes: [UInt8]

  /// - Returns: `nil` for another number of bytes than 32.
  init?(_ bytes: some Sequence<UInt8>) {
    self.bytes = Array(bytes)
    guard self.bytes.count == Self.byteCount else { return nil }
  }

  /// The bytes in hexadecimal.
  package var description: String {
    bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  }
}

#if TLS
  import Crypto

  extension GrantHash {
    fileprivate init(_ digest: SHA256.Digest) { bytes = Array(digest) }
  }

  extension GrantTexts {
    /// Takes the texts of a grant.
    ///
    /// - Parameters:
    ///   - grant: The grant: a JSON object. Its field `rules`, if it has one, is an object whose `sha256` is
    ///     the hash of the rules, in 64 hexadecimal digits.
    ///   - rules: The rules; empty for a grant without rules.
    /// - Throws: `LinkError` with code `credentials`: a text is too long, the grant is not JSON, or the rules
    ///   are not those that it refers to.
    package init(checking grant: [UInt8], rules: [UInt8]) throws(LinkError) {
      guard grant.count <= Self.grantByteLimit else {
        throw LinkError(
          .credentials, "A grant has at most \(Self.grantByteLimit) bytes, this one \(grant.count)")
      }
      guard rules.count <= Self.rulesByteLimit else {
        throw LinkError(
          .credentials, "The rules of a grant have at most \(Self.rulesByteLimit) bytes, these \(rules.count)"
        )
      }
      let fields: [TextKey: Value]
      do {
        guard case .map(let read) = try JSON.parse(grant) else {
          throw LinkError(.credentials, "A grant is a JSON object")
        }
        fields = read
      } catch let error as LinkError {
        throw error
      } catch {
        throw LinkError(.credentials, "The grant cannot be read: \(error)")
      }
      switch fields["rules"] {
      case nil:
        guard rules.isEmpty else {
          throw LinkError(.credentials, "The grant refers to no rules, and there are some beside it")
        }
      case .map(let reference)?:
        guard case .string(let digits)? = reference["sha256"], let hash = [UInt8](hexDigits: digits) else {
          throw LinkError(.credentials, "The grant's field rules.sha256 has 64 hexadecimal digits")
        }
        guard hash == Array(SHA256.hash(data: rules)) else {
          throw LinkError(.credentials, "The rules are other ones than those that the grant refers to")
        }
      default: throw LinkError(.credentials, "The grant's field rules is an object")
      }
      self.grant = grant
      self.rules = rules
    }

    /// The hash that a certificate holds.
    package var hash: GrantHash { GrantHash(SHA256.hash(data: grant)) }

    /// The form on the wire: the length of each text in two bytes, big-endian, and then the texts.
    var wire: [UInt8] {
      var out = ByteWriter(capacity: Self.headBytes + byteCount)
      out.writeFixed(UInt16(grant.count))
      out.writeFixed(UInt16(rules.count))
      out.write(grant)
      out.write(rules)
      return out.bytes
    }

    static let headBytes = 4

    /// Reads texts that a peer hands over.
    ///
    /// - Parameters:
    ///   - bytes: What has been received; the texts are removed.
    ///   - hash: The hash in the peer's certificate.
    /// - Returns: `nil` when more bytes are needed, with `bytes` unchanged.
    /// - Throws: `LinkError` with code `credentials` for texts that are too long or do not have the hash.
    static func read(_ bytes: inout ArraySlice<UInt8>, hash: GrantHash) throws(LinkError) -> GrantTexts? {
      guard bytes.count >= headBytes else { return nil }
      let head = bytes.prefix(headBytes).map(Int.init)
      let (grant, rules) = (head[0] << 8 | head[1], head[2] << 8 | head[3])
      guard grant <= grantByteLimit, rules <= rulesByteLimit else {
        throw LinkError(.credentials, "The texts of a grant are too long")
      }
      guard bytes.count >= headBytes + grant + rules else { return nil }
      let rest: ArraySlice<UInt8> = bytes.dropFirst(headBytes)
      let texts = try GrantTexts(
        checking: Array(rest.prefix(grant)), rules: Array(rest.dropFirst(grant).prefix(rules)))
      guard texts.hash == hash else {
        throw LinkError(.credentials, "The grant is another one than that of the certificate")
      }
      bytes = rest.dropFirst(grant + rules)
      return texts
    }
  }
#endif
