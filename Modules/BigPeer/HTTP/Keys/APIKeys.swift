#if Server
  package import CRDTCore
  import HTTPTypes
  package import DocStore
  import Synchronization

  /// The API keys of one application, stored in its store.
  package final class APIKeys: Sendable {
    /// The maximum number of keys of an application.
    package static let limit = 10_000
    private static let table = SideTable("http.keys")

    private let store: Store
    private let known = Mutex<[String: APIKey]>([:])
    /// Keys that are refused, although their removal from the store is not yet certain.
    private let revoking = Mutex<Set<String>>([])

    /// Reads the keys of a store.
    ///
    /// - Parameters:
    ///   - store: The application's store.
    ///   - report: Gets a line about each damaged key, which is left out.
    /// - Throws: `StoreError`.
    init(_ store: Store, report: @escaping @Sendable (String) -> Void) throws {
      self.store = store
      var keys: [String: APIKey] = [:]
      try store.read { transaction in
        try transaction.forEachSideEntry(Self.table) { name, value in
          guard let key = APIKey(stored: value) else {
            report("An API key is damaged and is left out: \(String(decoding: name, as: UTF8.self))")
            return true
          }
          keys[key.id] = key
          return true
        }
      }
      let all = keys
      known.withLock { $0 = all }
    }

    /// All keys, the oldest first.
    package var all: [APIKey] {
      known.withLock { Array($0.values) }.sorted { ($0.created, $0.id) < ($1.created, $1.id) }
    }

    /// The key of a token at a time; `nil` when the application has no such key.
    func key(for token: APIKeyToken, at milliseconds: Int64) -> APIKey? {
      known.withLock { $0[token.id] }.flatMap { token.open($0, at: milliseconds) }
    }

    /// Makes a key; it is durable when this returns.
    ///
    /// - Parameters:
    ///   - name: Its name.
    ///   - right: Its right.
    ///   - collections: Its right in each collection; `nil` gives it in all of them.
    ///   - now: Milliseconds since 1970.
    ///   - expires: The time from which on it is refused; `nil` means never.
    ///   - alongside: Called with key and token in the transaction that stores the key.
    /// - Returns: The key, and its token, which is not stored.
    /// - Throws: `Problem` when there are too many; `StoreError`; what `alongside` throws.
    package func make(
      name: String, right: APIKey.Right, collections: [TextKey: APIKey.Right]? = nil, now: Int64,
      expires: Int64?,
      alongside: @escaping @Sendable (APIKey, String, WriteTransaction) throws -> Void = { _, _, _ in }
    ) async throws -> (key: APIKey, token: String) {
      guard known.withLock({ $0.count }) < Self.limit else {
        throw Problem(
          .conflict, "limit", "the application has \(Self.limit) keys already: revoke some of them")
      }
      let token = APIKeyToken()
      let key = APIKey(
        id: token.id, name: name, right: right, created: now, expires: expires, hash: token.hash,
        site: store.site.description, collections: collections)
      try await store.write { transaction in
        try alongside(key, token.text, transaction)
        try transaction.setSideValue(key.stored, Self.table, key: Array(key.id.utf8))
      }
      known.withLock { $0[key.id] = key }
      return (key, token.text)
    }

    /// Gives a key a new secret; the former one is accepted for some time more.
    ///
    /// - Parameters:
    ///   - id: The key's id, which stays.
    ///   - overlap: How long the former secret is accepted, in milliseconds; with 0 it ends at once.
    ///   - now: Milliseconds since 1970.
    ///   - alongside: Called with key and token in the transaction that stores the key.
    /// - Returns: The key, and its token, which is not stored; `nil` when there is no such key.
    /// - Throws: `conflict` when the key has two secrets already, and one of them would end before its time;
    ///   `StoreError`; what `alongside` throws. Then nothing changes.
    package func rotate(
      _ id: String, overlap: Int64, now: Int64,
      alongside: @escaping @Sendable (APIKey, String, WriteTransaction) throws -> Void = { _, _, _ in }
    ) async throws -> (key: APIKey, token: String)? {
      guard let former = known.withLock({ $0[id] }) else { return nil }
      let token = APIKeyToken(of: former)
      var key = former
      key.hash = token.hash
      key.site = store.site.description
      key.former = overlap > 0 ? APIKey.FormerSecret(hash: former.hash, ends: now + overlap) : nil
      let next = key
      try await store.write { transaction in
        // Another rotation, or a revocation, may have come first.
        let stored = try transaction.sideValue(Self.table, key: Array(id.utf8))
        guard stored.flatMap({ APIKey(stored: $0) }) == former else {
          throw Problem(.conflict, "conflict", "the key was changed at the same time: try again")
        }
        try alongside(next, token.text, transaction)
        guard overlap == 0 || !former.hasFormerSecret(at: now) else {
          throw Problem(
            .conflict, "conflict",
            "the key has two secrets already, and keeps no third: wait for the end of the older one, or end both at once with seconds 0"
          )
        }
        try transaction.setSideValue(next.stored, Self.table, key: Array(id.utf8))
      }
      let isThere = known.withLock { known in
        guard known[id] == former else { return false }
        known[id] = next
        return true
      }
      guard isThere else { throw Problem(.conflict, "conflict", "the key was revoked at the same time") }
      return (next, token.text)
    }

    /// Whether a key, with the secret that a request has shown, is still valid at a time; for long responses.
    func isValid(_ key: APIKey, at milliseconds: Int64) -> Bool {
      guard let known = known.withLock({ $0[key.id] }), !known.isOver(at: milliseconds) else { return false }
      return known.shown(with: SecretHash(kept: key.hash), at: milliseconds) != nil
    }

    /// Revokes a key: it is refused from now on, and permanently once this returns.
    ///
    /// - Returns: `false` when there is no such key.
    /// - Throws: `StoreError`; then the key is refused until the next start, and it can be revoked again.
    package func revoke(_ id: String) async throws -> Bool {
      let isKnown = known.withLock { $0.removeValue(forKey: id) != nil }
      let isThere = revoking.withLock { isKnown ? $0.insert(id).inserted : $0.contains(id) }
      guard isThere else { return false }
      try await store.write { try $0.setSideValue(nil, Self.table, key: Array(id.utf8)) }
      revoking.withLock { _ = $0.remove(id) }
      return true
    }
  }
#endif
