#if Server
  import DocStore
  import Hummingbird

  /// A request that creates something once, however often it is sent with the same key.
  ///
  /// Each repetition gets the first response. The response is stored for 24 hours, in the transaction that
  /// creates the thing, even if it contains a secret.
  struct IdempotentMaking: Sendable {
    /// Ends the transaction of a request that was carried out before.
    private struct Repeated: Error {
      let answer: [UInt8]
    }

    private let key: IdempotencyKey?
    private let now: @Sendable () -> Int64

    init(_ key: IdempotencyKey?, _ now: @escaping @Sendable () -> Int64) {
      (self.key, self.now) = (key, now)
    }

    /// Stores the response; must be called in the transaction that creates the thing.
    ///
    /// - Throws: An error if the request was carried out before; it must reach ``carryOut(in:_:make:)``
    ///   without being caught. `idempotencyKey` if another request was carried out with the key;
    ///   `StoreError`.
    func keep(_ answer: [UInt8], in transaction: WriteTransaction) throws {
      guard let key else { return }
      let time = now()
      if let known = try key.answer(in: transaction, at: time) { throw Repeated(answer: known) }
      try key.keep(answer, in: transaction, at: time)
    }

    /// Creates something, unless an earlier request with the same key has created it.
    ///
    /// - Parameters:
    ///   - store: The store in which it is created.
    ///   - response: Makes the response from its bytes.
    ///   - make: Creates it, with ``keep(_:in:)`` in the same transaction.
    /// - Returns: The response, with a header that marks a repeated one.
    /// - Throws: The same as ``keep(_:in:)``; what `make` throws. Then nothing is created.
    func carryOut(
      in store: Store, _ response: ([UInt8]) throws -> Response, make: () async throws -> [UInt8]
    ) async throws -> Response {
      let (key, now) = (key, now)
      // Before all other checks: the limit may be reached by now, and a repetition must still get its
      // response.
      if let key, let known = try await store.write({ try key.answer(in: $0, at: now()) }).0 {
        return try Self.repeated(known, response)
      }
      do {
        return try response(try await make())
      } catch let repeated as Repeated {
        return try Self.repeated(repeated.answer, response)
      }
    }

    private static func repeated(
      _ answer: [UInt8], _ response: ([UInt8]) throws -> Response
    ) throws -> Response {
      var response = try response(answer)
      response.headers[.replayed] = "true"
      return response
    }
  }
#endif
