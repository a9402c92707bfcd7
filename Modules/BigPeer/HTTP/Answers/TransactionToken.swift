#if Server
  import CRDTCore
  import DocStore
  package import HTTPTypes
  import Synchronization

  /// Identifies a transaction for clients, which may require that a later response includes it.
  ///
  /// The token is opaque to clients.
  package struct TransactionToken: Hashable, Sendable, CustomStringConvertible {
    /// Distinguishes the log of one store from that of another.
    let log: UInt64
    let sequence: UInt64

    /// The maximum length of a token, in bytes; it leaves room for tokens of later releases.
    static let textBytes = 256

    package var description: String { "\(String(log, radix: 16))-\(String(sequence, radix: 16))" }

    init(log: UInt64, sequence: UInt64) { (self.log, self.sequence) = (log, sequence) }

    /// Reads a text.
    ///
    /// - Returns: `nil` for anything other than a token.
    package init?(_ text: String) {
      let parts = text.split(separator: "-", omittingEmptySubsequences: false)
      guard parts.count == 2, text.utf8.count <= Self.textBytes,
        let log = UInt64(parts[0], radix: 16), let sequence = UInt64(parts[1], radix: 16)
      else { return nil }
      self.init(log: log, sequence: sequence)
      // Each token has exactly one text.
      guard description.utf8.elementsEqual(text.utf8) else { return nil }
    }
  }

  extension HTTPField.Name {
    /// In a request, requires a transaction; in a response, names its transaction.
    static let transaction = named("Dunlin-Transaction")
    /// The name of the same header in the product that the API is modelled on.
    static let modelTransaction = named("X-DITTO-TXN-ID")
    /// Identifies a write, so that a repeated request does not write again.
    static let idempotencyKey = named("Idempotency-Key")
    /// Marks a response as that of an earlier request with the same key.
    static let replayed = named("Idempotency-Replayed")

    private static func named(_ text: String) -> HTTPField.Name {
      guard let name = HTTPField.Name(text) else { preconditionFailure("\(text) is no header's name") }
      return name
    }
  }

  /// The transactions of one store, for clients that require one that they have seen.
  package final class TransactionWatch: Sendable {
    private struct State {
      var sequence: UInt64
      var waiters: [UInt64: (sequence: UInt64, continuation: CheckedContinuation<Void, Never>)] = [:]
      var nextID: UInt64 = 0
      var listener: CommitListener?
    }

    /// The longest wait for a transaction.
    package static let patience = Duration.seconds(2)

    private let store: Store
    private let state: Mutex<State>

    /// Follows the log of a store.
    ///
    /// - Throws: `StoreError`.
    init(_ store: Store) throws {
      self.store = store
      state = Mutex(State(sequence: 0))
      let listener = store.onCommit { [weak self] in self?.record($0.sequence) }
      state.withLock { $0.listener = listener }
      record(try store.read { $0.sequence })
    }

    /// The newest transaction.
    package var newest: TransactionToken { token(state.withLock { $0.sequence }) }

    /// The token of a transaction of this store.
    package func token(_ sequence: UInt64) -> TransactionToken {
      TransactionToken(log: Self.log(of: store), sequence: sequence)
    }

    /// The number that distinguishes the log of this store from others.
    static func log(of store: Store) -> UInt64 { store.site.high }

    private func record(_ sequence: UInt64) {
      let ready = state.withLock { state in
        state.sequence = max(state.sequence, sequence)
        let ready = state.waiters.filter { $0.value.sequence <= state.sequence }
        for id in ready.keys { state.waiters[id] = nil }
        return ready.values.map(\.continuation)
      }
      for continuation in ready { continuation.resume() }
    }

    /// Waits until the transaction that a request requires is stored, if it requires one.
    ///
    /// - Throws: `request` for a text that is too long; `unknownTransaction` for an invalid token, or one of
    ///   another store's log; `transactionBehind` when the transaction has not arrived within two seconds.
    package func satisfy(_ headers: HTTPFields) async throws {
      let texts = headers[values: .transaction] + headers[values: .modelTransaction]
      for text in texts {
        guard text.utf8.count <= TransactionToken.textBytes else {
          throw Problem.request(
            "the header that demands a transaction must have at most \(TransactionToken.textBytes) bytes")
        }
        // Tokens are opaque to clients, so an invalid token is treated as one that this store does not know.
        try await wait(for: TransactionToken(text))
      }
    }

    private func wait(for token: TransactionToken?) async throws {
      guard let token, token.log == Self.log(of: store) else {
        throw Problem(
          .conflict, "unknownTransaction",
          "the transaction demanded is of another store, or of this one before it was restored from a backup")
      }
      guard state.withLock({ $0.sequence }) < token.sequence else { return }
      let id = state.withLock { state in
        state.nextID += 1
        return state.nextID
      }
      await withTaskGroup(of: Void.self) { group in
        group.addTask { await self.sleep(id, until: token.sequence) }
        group.addTask { try? await Task.sleep(for: Self.patience) }
        await group.next()
        group.cancelAll()
      }
      try Task.checkCancellation()
      guard state.withLock({ $0.sequence }) < token.sequence else { return }
      throw Problem(
        .serviceUnavailable, "transactionBehind",
        "the transaction demanded has not come within \(Self.patience.components.seconds) seconds",
        headers: [.retryAfter: "1"])
    }

    private func sleep(_ id: UInt64, until sequence: UInt64) async {
      await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          let isHere = state.withLock { state in
            guard state.sequence < sequence, !Task.isCancelled else { return true }
            state.waiters[id] = (sequence, continuation)
            return false
          }
          if isHere { continuation.resume() }
        }
      } onCancel: {
        state.withLock { $0.waiters.removeValue(forKey: id) }?.continuation.resume()
      }
    }

    /// Stops following the log.
    func end() {
      let listener = state.withLock { state in
        defer { state.listener = nil }
        return state.listener
      }
      listener?.cancel()
    }
  }
#endif
