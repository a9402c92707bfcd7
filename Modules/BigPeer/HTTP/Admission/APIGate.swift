#if Server
  import CRDTCore
  import DunlinFeed
  import Facade
  package import Hummingbird
  import HTTPTypes
  import Links
  import QueryEngine
  import Synchronization

  /// Decides who may use the HTTP API, and how much of it.
  package final class APIGate: Sendable {
    private struct Rates {
      let start = ContinuousClock.now
      var byKey: RateLimiter<String>
      var byAddress: RateLimiter<ConnectionOrigin>

      /// A burst may have twice as many requests as one second allows.
      init(_ limits: HTTPLimits) {
        byKey = RateLimiter(
          atOnce: limits.requestsPerSecondByKey * 2, perSecond: limits.requestsPerSecondByKey)
        byAddress = RateLimiter(
          atOnce: limits.requestsPerSecondByAddress * 2, perSecond: limits.requestsPerSecondByAddress)
      }

      var now: Duration { ContinuousClock.now - start }
    }

    private let applications: HostedApplications
    private let proxies: TrustedProxies
    private let now: @Sendable () -> Int64
    private let rates: Mutex<Rates>
    private let live: Mutex<HTTPLimits>
    /// The limits now: a reload may change them.
    var limits: HTTPLimits { live.withLock { $0 } }
    let ledger: RequestLedger

    package init(
      _ applications: HostedApplications, _ configuration: BigPeerConfiguration.HTTP,
      now: @escaping @Sendable () -> Int64
    ) {
      self.applications = applications
      proxies = TrustedProxies(configuration)
      live = Mutex(configuration.limits)
      ledger = RequestLedger(configuration.limits)
      self.now = now
      rates = Mutex(Rates(configuration.limits))
    }

    /// Uses other limits, for requests from now on.
    func update(_ limits: HTTPLimits) {
      let former = live.withLock { live in
        defer { live = limits }
        return live
      }
      ledger.update(limits)
      guard
        former.requestsPerSecondByKey != limits.requestsPerSecondByKey
          || former.requestsPerSecondByAddress != limits.requestsPerSecondByAddress
      else { return }
      rates.withLock { $0 = Rates(limits) }
    }

    /// The client address of a request.
    func address(of request: Request, _ context: ServerContext) -> ClientAddress {
      ClientAddress(context.remoteAddress, request.headers, proxies: proxies)
    }

    /// Counts a request of an address, whatever it requests.
    ///
    /// - Throws: `rateLimit`; `insecure` for one that came to a proxy without TLS.
    func count(_ address: ClientAddress) throws(Problem) {
      if proxies.requiresTLS, address.isPlain { throw Problem.insecure }
      let wait = rates.withLock { $0.byAddress.take(address.origin, at: $0.now) }
      if let wait { throw Problem.rateLimit("the address", wait) }
    }

    /// Admits a request whose key has the required right.
    ///
    /// - Parameters:
    ///   - request: The request, whose body has not been read.
    ///   - context: Its record gets the application and the key.
    ///   - right: The right that the request needs.
    /// - Returns: The admission; the request counts until it is released.
    /// - Throws: `authentication`, `restored`, `permission`, `rateLimit`, `busy`.
    package func admit(
      _ request: Request, _ context: ServerContext, needing right: APIKey.Right
    ) throws(Problem) -> Admission {
      let (application, key) = try owner(of: request)
      return try admit(key, of: application, context, needing: right)
    }

    /// Admits a request that names its key in another way than by the header, such as with a ticket.
    ///
    /// - Parameters:
    ///   - key: The key, which may have been revoked meanwhile.
    ///   - id: The id of the key's application.
    ///   - context: Its record gets the application and the key.
    ///   - right: The right that the request needs.
    /// - Returns: The admission; the request counts until it is released.
    /// - Throws: `authentication`, `restored`, `permission`, `rateLimit`, `busy`.
    func admit(
      _ key: APIKey, of id: String, _ context: ServerContext, needing right: APIKey.Right
    ) throws(Problem) -> Admission {
      guard let application = applications[id] else {
        throw applications.missing(id) == nil ? Problem.wrongKey : Problem.missingApplication
      }
      guard isValid(key, of: application) else { throw Problem.wrongKey }
      guard application.origin.accepts(key) else { throw Problem.restored }
      return try admit(key, of: application, context, needing: right)
    }

    private func admit(
      _ key: APIKey, of application: HostedApplication, _ context: ServerContext, needing right: APIKey.Right
    ) throws(Problem) -> Admission {
      context.record.note(application: application.id, key: key.id)
      guard key.right.covers(right) else { throw Problem.permission }
      let wait = rates.withLock { $0.byKey.take(key.id, at: $0.now) }
      if let wait { throw Problem.rateLimit("the key", wait) }
      try ledger.begin(for: key.id)
      return Admission(application, key, ledger, limits, context.record)
    }

    /// Whether the key of a request is still valid; for long responses.
    func isValid(_ key: APIKey, of application: HostedApplication) -> Bool {
      application.keys.isValid(key, at: now())
    }

    private func owner(of request: Request) throws(Problem) -> (HostedApplication, APIKey) {
      guard let authorization = request.headers[.authorization] else { throw Problem.noKey }
      // The bytes, because a split into letters takes longer than all that follows.
      let parts = authorization.utf8.split(separator: UInt8(ascii: " "))
      guard parts.count == 2, Substring(parts[0]).lowercased() == "bearer",
        let token = APIKeyToken(Substring(parts[1]))
      else { throw Problem.wrongKey }
      for application in applications.all {
        let now = now()
        guard let key = application.keys.key(for: token, at: now) else { continue }
        guard !key.isOver(at: now) else { throw Problem.wrongKey }
        guard application.origin.accepts(key) else { throw Problem.restored }
        return (application, key)
      }
      // The keys of an application are in its store, so the key may be of one that cannot be opened.
      throw applications.missing.isEmpty ? Problem.wrongKey : Problem.missingApplication
    }
  }

  /// A request in progress: its application and key, and the resources that it uses.
  package final class Admission: Sendable {
    package let application: HostedApplication
    package let key: APIKey
    let limits: HTTPLimits
    /// The record of the request for logs.
    let record: RequestRecord
    private let ledger: RequestLedger
    private let bodyBytes = Atomic(0)
    private let answerBytes = Atomic(0)
    private let readers = Atomic(0)

    fileprivate init(
      _ application: HostedApplication, _ key: APIKey, _ ledger: RequestLedger, _ limits: HTTPLimits,
      _ record: RequestRecord
    ) {
      self.record = record
      self.application = application
      self.key = key
      self.ledger = ledger
      self.limits = limits
    }

    deinit {
      // Relaxed: nothing else references this object now.
      ledger.bodies.release(bodyBytes.load(ordering: .relaxed), for: key.id)
      ledger.answers.release(answerBytes.load(ordering: .relaxed), for: key.id)
      ledger.end(of: key.id, readers: readers.load(ordering: .relaxed))
    }

    /// How long a request waits for memory that others of its key have.
    private static let patience = Duration.seconds(5)

    /// Reserves memory for the body and its values, and waits for it where others have it.
    ///
    /// - Parameter count: The number of additional bytes.
    /// - Throws: `busy` when there is no room for a while; `bodyTooLarge` for a body that can never have
    ///   enough.
    func reserveBody(_ count: Int) async throws(Problem) {
      // Relaxed: one task reads a body.
      guard bodyBytes.load(ordering: .relaxed) + count <= ledger.bodies.limitByKey else {
        throw Problem(
          .contentTooLarge, "bodyTooLarge",
          "the body and its values take more memory than those of one key may, \(ledger.bodies.limitByKey) bytes"
        )
      }
      guard await ledger.bodies.reserve(count, for: key.id, within: Self.patience) else {
        throw Problem.busy("the bodies of requests take as much memory as they may")
      }
      bodyBytes.wrappingAdd(count, ordering: .relaxed)
    }

    /// Reserves memory for a response that is not streamed, until the request ends; it does not wait.
    ///
    /// - Parameter count: The size of the response, in bytes.
    /// - Throws: `busy` when there is no room; `limit` for a response that can never have enough.
    func reserveAnswer(_ count: Int) throws(Problem) {
      guard count > Response.pieceBytes else { return }
      guard count <= ledger.answers.limitByKey else { throw Problem.answerTooLarge(limits) }
      guard ledger.answers.tryToReserve(count, for: key.id) else { throw Problem.answersAreFull }
      answerBytes.wrappingAdd(count, ordering: .relaxed)
    }

    /// Reserves memory for a part of a response that is gathered before it is sent; it does not wait.
    ///
    /// - Parameter count: The size of the part, in bytes.
    /// - Throws: `busy` when there is no room.
    func reserveAnswer(more count: Int) throws(Problem) {
      guard ledger.answers.tryToReserve(count, for: key.id) else { throw Problem.answersAreFull }
      answerBytes.wrappingAdd(count, ordering: .relaxed)
    }

    /// Reserves memory for a response that is not streamed, and waits for it where others have it.
    ///
    /// - Parameter count: The size of the response, in bytes.
    /// - Throws: `busy` when there is no room for a while; `limit` for a response that can never have enough.
    func waitToReserveAnswer(_ count: Int) async throws(Problem) {
      guard count > Response.pieceBytes else { return }
      guard count <= ledger.answers.limitByKey else { throw Problem.answerTooLarge(limits) }
      guard await ledger.answers.reserve(count, for: key.id, within: Self.patience) else {
        throw Problem.answersAreFull
      }
      answerBytes.wrappingAdd(count, ordering: .relaxed)
    }

    /// Begins to read a result, which needs a thread.
    ///
    /// - Parameter begin: Begins the reading, within the limits of a statement of this request. It counts
    ///   what it makes of the response in the share.
    /// - Returns: What `begin` returns, and the share.
    /// - Throws: `busy` when the maximum number of results is being read; what `begin` throws.
    func read<Element>(
      _ begin: (StatementContext, AnswerShare) throws(DunlinError) -> RowReader<Element>
    ) throws -> (RowReader<Element>, AnswerShare) {
      try ledger.beginReading(for: key.id)
      readers.wrappingAdd(1, ordering: .relaxed)
      let share = AnswerShare(ledger, key.id, limits)
      let statement = statementContext
      statement.share(share)
      do throws(DunlinError) {
        return (try begin(statement, share), share)
      } catch  where error.code == .limit {
        throw Problem.tooManyReaders
      }
    }

    /// Checks that the key may use a collection.
    ///
    /// - Throws: `permission`.
    func check(_ right: APIKey.Right, in collection: String) throws(Problem) {
      guard key.covers(right, in: collection) else { throw Problem.permission(in: collection) }
    }

    /// Checks that the key may use all collections of a statement, also those of its inner queries.
    ///
    /// - Throws: `permission`.
    func check(_ statement: Statement) throws(Problem) {
      guard key.collections != nil else { return }
      guard let uses = statement.uses else { throw Problem.onlyForAllCollections }
      for use in uses {
        // It has one empty document.
        if (try? SystemCollection.named(use.collection.text)) == .dual { continue }
        try check(use.isWrite ? .write : .read, in: use.collection.text)
      }
    }

    /// Checks that the key may read what a change feed sends.
    ///
    /// - Throws: `permission`.
    func check(_ filter: FeedFilter) throws(Problem) {
      for query in filter.queries { try check(.read, in: query.collection) }
    }

    /// Checks that the key is one for all collections.
    ///
    /// - Throws: `permission`.
    func checkIsForAllCollections() throws(Problem) {
      guard key.collections == nil else { throw Problem.onlyForAllCollections }
    }

    /// - Throws: `permission` for a key that only reads.
    func checkMayWrite() throws(Problem) { guard key.right == .write else { throw Problem.permission } }
  }
#endif
