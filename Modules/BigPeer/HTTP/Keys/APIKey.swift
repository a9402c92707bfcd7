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
    var hash: [UInt8]
    /// The site of the store in which it was made; empty for a key of an earlier release.
    var site: String
    /// What it permits in each collection; `nil` permits ``right`` in all of them.
    package var collections: [TextKey: Right]?
    /// The secret that it had before, which is accepted for some time.
    var former: FormerSecret?

    /// The secret of a key before the present one.
    struct FormerSecret: Hashable, Sendable {
      /// SHA-256 of the secret.
      let hash: [UInt8]
      /// The time from which on it is refused, in milliseconds since 1970.
      let ends: Int64
    }

    /// Whether it has expired at a time.
    package func isOver(at milliseconds: Int64) -> Bool { expires.map { $0 <= milliseconds } ?? false }

    /// Whether the former secret is accepted at a time.
    func hasFormerSecret(at milliseconds: Int64) -> Bool { former.map { $0.ends > milliseconds } ?? false }

    /// The key as a request has shown it, if that was with one of its secrets at a time.
    ///
    /// - Returns: The key with that secret alone; `nil` if it was with another secret.
    func shown(with hash: SecretHash, at milliseconds: Int64) -> APIKey? {
      let isPresent = hash.isSame(as: SecretHash(kept: self.hash))
      let isFormer = hash.isSame(as: SecretHash(kept: former?.hash ?? self.hash))
      guard !isPresent else { return self }
      guard isFormer, hasFormerSecret(at: milliseconds), let former else { return nil }
      var shown = self
      (shown.hash, shown.former) = (former.hash, nil)
      return shown
    }

    /// Whether it permits something in a collection.
    func covers(_ needed: Right, in collection: String) -> Bool {
      guard let collections else { return right.covers(needed) }
      return collections[TextKey(collection)]?.covers(needed) ?? false
    }
  }

  /// The text that a key's owner has: `dk1.ID.SECRET`, with a secret of 256 random bits.
  struct APIKeyToken {
    let id: String
    private let secret: Secret

    private static let prefix = "dk1"

    /// Makes a token with a new secret for a key.
    init(of key: APIKey) {
      id = key.id
      secret = Secret()
    }

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

    /// The key as this token shows it at a time; takes equally long for a wrong secret.
    ///
    /// - Returns: `nil` if the token has another secret.
    func open(_ key: APIKey, at milliseconds: Int64) -> APIKey? {
      key.shown(with: SecretHash(of: secret.bytes), at: milliseconds)
    }
  }

  extension APIKey {
    /// The right of a key with rights by collection, as it is stored.
    ///
    /// An earlier release knows no such right. So it leaves the key out, and does not take it for one of all
    /// collections.
    private static let byCollection = "collections"

    /// The bytes of the key as it is stored.
    var stored: [UInt8] {
      var fields: [TextKey: Value] = [
        "id": .string(id), "name": .string(name), "created": .int(created), "hash": .bytes(hash),
        "site": .string(site),
        "right": .string(collections == nil ? right.rawValue : Self.byCollection),
      ]
      if let expires { fields["expires"] = .int(expires) }
      if let collections {
        fields["collections"] = .array(
          collections.sorted { $0.key < $1.key }.map { .array([.string($0.text), .string($1.rawValue)]) })
      }
      if let former {
        fields["formerHash"] = .bytes(former.hash)
        fields["formerEnds"] = .int(former.ends)
      }
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
        let rightText = fields["right"]?.stringValue,
        case .int(let created)? = fields["created"], case .bytes(let hash)? = fields["hash"], hash.count == 32
      else { return nil }
      if rightText == Self.byCollection {
        guard let collections = Self.collections(fields["collections"]) else { return nil }
        self.collections = collections
        right = collections.values.contains(.write) ? .write : .read
      } else {
        guard let right = Right(rawValue: rightText) else { return nil }
        self.right = right
      }
      (self.id, self.name, self.created, self.hash) = (id, name, created, hash)
      if case .bytes(let former)? = fields["formerHash"], case .int(let ends)? = fields["formerEnds"] {
        self.former = FormerSecret(hash: former, ends: ends)
      }
      site = fields["site"]?.stringValue ?? ""
      if case .int(let expires)? = fields["expires"] { self.expires = expires } else { expires = nil }
    }

    /// Rights by collection, as they are stored.
    private static func collections(_ stored: Value?) -> [TextKey: Right]? {
      guard case .array(let entries)? = stored, !entries.isEmpty else { return nil }
      var rights: [TextKey: Right] = [:]
      for entry in entries {
        guard case .array(let pair) = entry, pair.count == 2, let name = pair[0].stringValue,
          let right = pair[1].stringValue.flatMap({ Right(rawValue: $0) })
        else { return nil }
        rights[TextKey(name)] = right
      }
      return rights
    }

    /// The public fields.
    package var values: [TextKey: Value] {
      var fields: [TextKey: Value] = [
        "id": .string(id), "name": .string(name), "right": .string(right.rawValue), "created": .int(created),
        "expires": expires.map { .int($0) } ?? .null,
      ]
      if let collections {
        fields["collections"] = .map(collections.mapValues { .string($0.rawValue) })
      }
      if let former { fields["formerSecretEnds"] = .int(former.ends) }
      return fields
    }
  }
#endif
