#if Server
  package import CRDTCore

  /// The right of a web back end to use the HTTP API of one application; only its secret's hash is stored.
  package struct APIKey: Hashable, Sendable {
    /// What a key permits.
    package enum Right: String, Sendable, Hashable {
      case read
      /// Permits reading too.
      case write

      /// Whether a key with this right permits a request that needs another right.
      func covers(_ needed: Right) -> Bool { self == .write || needed == .read }
    }

    /// Identifies the key, in logs too: 16 hexadecimal digits.
    package let id: String
    /// The name that its creator gave it.
    package let name: String
    package let right: Right
    /// Milliseconds since 1970.
    package let created: Int64
    /// The time from which on it is refused, in milliseconds since 1970; `nil` means never.
    package let expires: Int64?
    /// SHA-256 of the secret.
    let hash: [UInt8]
    /// The site of the store in which it was made; empty for a key of an earlier release.
    let site: String

    /// Whether it has expired at a time.
    package func isOver(at milliseconds: Int64) -> Bool { expires.map { $0 <= milliseconds } ?? false }
  }

  /// The text that a key's owner has: `dk1.ID.SECRET`, with a secret of 256 random bits.
  struct APIKeyToken {
    let id: String
    private let secret: Secret

    private static let prefix = "dk1"

    /// Makes a new token.
    init() {
      var generator = SystemRandomNumberGenerator()
      let digits = String(generator.next() as UInt64, radix: 16)
      id = String(repeating: "0", count: 16 - digits.count) + digits
      secret = Secret()
    }

    /// Reads a text.
    ///
    /// - Returns: `nil` for anything other than a key.
    init?(_ text: Substring) {
      let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
      guard parts.count == 3, parts[0].elementsEqual(Self.prefix.utf8), parts[1].count == 16,
        parts[1].allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }),
        let secret = Secret(Substring(parts[2]))
      else { return nil }
      id = String(Substring(parts[1]))
      self.secret = secret
    }

    /// The text, which is secret.
    var text: String { "\(Self.prefix).\(id).\(secret.text)" }

    /// The hash of the secret, which is stored.
    var hash: [UInt8] { SecretHash(of: secret.bytes).bytes }

    /// Whether this is the token of a key; takes equally long for a wrong secret.
    func opens(_ key: APIKey) -> Bool {
      SecretHash(of: secret.bytes).isSame(as: SecretHash(kept: key.hash))
    }
  }

  extension APIKey {
    /// The bytes of the key as it is stored.
    var stored: [UInt8] {
      var fields: [TextKey: Value] = [
        "id": .string(id), "name": .string(name), "right": .string(right.rawValue), "created": .int(created),
        "hash": .bytes(hash), "site": .string(site),
      ]
      if let expires { fields["expires"] = .int(expires) }
      var bytes: [UInt8] = []
      JSON.write(.map(fields), to: &bytes)
      return bytes
    }

    /// Reads a stored key.
    ///
    /// - Returns: `nil` when it is damaged.
    init?(stored: [UInt8]) {
      guard case .map(let fields)? = try? JSON.parse(stored, options: JSON.ReadOptions(interpretsTags: true)),
        let id = fields["id"]?.stringValue, let name = fields["name"]?.stringValue,
        let right = fields["right"]?.stringValue.flatMap({ Right(rawValue: $0) }),
        case .int(let created)? = fields["created"], case .bytes(let hash)? = fields["hash"], hash.count == 32
      else { return nil }
      (self.id, self.name, self.right, self.created, self.hash) = (id, name, right, created, hash)
      site = fields["site"]?.stringValue ?? ""
      if case .int(let expires)? = fields["expires"] { self.expires = expires } else { expires = nil }
    }

    /// The public fields.
    package var values: [TextKey: Value] {
      [
        "id": .string(id), "name": .string(name), "right": .string(right.rawValue), "created": .int(created),
        "expires": expires.map { .int($0) } ?? .null,
      ]
    }
  }
#endif
