#if Server
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

    /// The key of a token; `nil` when the application has no such key.
    func key(for token: APIKeyToken) -> APIKey? {
      guard let key = known.withLock({ $0[token.id] }), token.opens(key) else { return nil }
      return key
    }

    /// Makes a key; it is durable when this returns.
    ///
    /// - Parameters:
    ///   - name: Its name.
    ///   - right: Its right.
    ///   - now: Milliseconds since 1970.
    ///   - expires: The time from which on it is refused; `nil` means never.
    ///   - alongside: Called with key and token in the transaction that stores the key.
    /// - Returns: The key, and its token, which is not stored.
    /// - Throws: `Problem` when there are too many; `StoreError`; what `alongside` throws.
    package func make(
      name: String, right: APIKey.Right, now: Int64, expires: Int64?,
      alongside: @escaping @Sendable (APIKey, String, WriteTransaction) throws -> Void = { _, _, _ in }
    ) async throws -> (key: APIKey, token: String) {
      guard known.withLock({ $0.count }) < Self.limit else {
        throw Problem(
          .conflict, "limit", "the application has \(Self.limit) keys already: revoke some of them")
      }
      let token = APIKeyToken()
      let key = APIKey(
        id: token.id, name: name, right: right, created: now, expires: expires, hash: token.hash,
        site: store.site.description)
      try await store.write { transaction in
        try alongside(key, token.text, transaction)
        try transaction.setSideValue(key.stored, Self.table, key: Array(key.id.utf8))
      }
      known.withLock { $0[key.id] = key }
      return (key, token.text)
    }

    /// Whether a key still exists and is valid at a time; for long responses.
    func isValid(_ id: String, at milliseconds: Int64) -> Bool {
      known.withLock { $0[id] }.map { !$0.isOver(at: milliseconds) } ?? false
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
