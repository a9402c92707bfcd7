#if Server
  import DocStore
  import Hummingbird

  /// A request that makes something: it is made once, however often the request is sent with one key, and each time the first
  /// answer is given.
  ///
  /// The answer is kept for 24 hours in the transaction that makes it, also where a secret is in it.
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

    /// Keeps the answer; it belongs into the transaction that makes something.
    ///
    /// - Throws: An error that nothing is to catch on its way to ``carryOut(in:_:make:)``, where the request was carried out before;
    ///   `idempotencyKey` where another one was; `StoreError`.
    func keep(_ answer: [UInt8], in transaction: WriteTransaction) throws {
      guard let key else { return }
      let time = now()
      if let known = try key.answer(in: transaction, at: time) { throw Repeated(answer: known) }
      try key.keep(answer, in: transaction, at: time)
    }

    /// Makes something, unless it was made before.
    ///
    /// - Parameters:
    ///   - store: Where it is made.
    ///   - response: The response with an answer's bytes.
    ///   - make: Makes it, with ``keep(_:in:)`` in the same transaction.
    /// - Returns: The response, which says so where it is a former one.
    /// - Throws: As ``keep(_:in:)``; what `make` throws; then nothing is made.
    func carryOut(
      in store: Store, _ response: ([UInt8]) throws -> Response, make: () async throws -> [UInt8]
    ) async throws -> Response {
      let (key, now) = (key, now)
      // Before anything is looked at: there may be no room for another one by now.
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
