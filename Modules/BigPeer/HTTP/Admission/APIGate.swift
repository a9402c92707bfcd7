#if Server
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
    private let proxies: Set<String>
    private let now: @Sendable () -> Int64
    private let rates: Mutex<Rates>
    let limits: HTTPLimits
    let ledger: RequestLedger

    package init(
      _ applications: HostedApplications, _ configuration: BigPeerConfiguration.HTTP,
      now: @escaping @Sendable () -> Int64
    ) {
      self.applications = applications
      proxies = configuration.proxies
      limits = configuration.limits
      ledger = RequestLedger(limits)
      self.now = now
      rates = Mutex(Rates(limits))
    }

    /// The client address of a request.
    func address(of request: Request, _ context: ServerContext) -> ClientAddress {
      ClientAddress(context.remoteAddress, request.headers, proxies: proxies)
    }

    /// Counts a request of an address, whatever it requests.
    ///
    /// - Throws: `rateLimit`.
    func count(_ address: ClientAddress) throws(Problem) {
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
      guard let application = applications[id], isValid(key, of: application) else { throw Problem.wrongKey }
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
      application.keys.isValid(key.id, at: now())
    }

    private func owner(of request: Request) throws(Problem) -> (HostedApplication, APIKey) {
      guard let authorization = request.headers[.authorization] else { throw Problem.noKey }
      // The bytes, because a split into letters takes longer than all that follows.
      let parts = authorization.utf8.split(separator: UInt8(ascii: " "))
      guard parts.count == 2, Substring(parts[0]).lowercased() == "bearer",
        let token = APIKeyToken(Substring(parts[1]))
      else { throw Problem.wrongKey }
      for application in applications.all {
        guard let key = application.keys.key(for: token) else { continue }
        guard !key.isOver(at: now()) else { throw Problem.wrongKey }
        guard application.origin.accepts(key) else { throw Problem.restored }
        return (application, key)
      }
      throw Problem.wrongKey
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
    private let bytes = Atomic(0)
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
      ledger.end(
        of: key.id, bytes: bytes.load(ordering: .relaxed), readers: readers.load(ordering: .relaxed))
    }

    /// Reserves room for bytes of the body.
    ///
    /// - Throws: `busy`, `bodyTooLarge`.
    func reserve(_ count: Int) throws(Problem) {
      // Relaxed: one task reads a body.
      try ledger.reserve(count, beside: bytes.load(ordering: .relaxed), for: key.id)
      bytes.wrappingAdd(count, ordering: .relaxed)
    }

    /// Begins to read a result, which needs a thread.
    ///
    /// - Parameter begin: Begins the reading, within the limits of a statement of this request.
    /// - Returns: What `begin` returns.
    /// - Throws: `busy` when the maximum number of results is being read; what `begin` throws.
    func read<Element>(
      _ begin: (StatementContext) throws(DunlinError) -> RowReader<Element>
    ) throws -> RowReader<Element> {
      try ledger.beginReading(for: key.id)
      readers.wrappingAdd(1, ordering: .relaxed)
      do throws(DunlinError) {
        return try begin(statementContext)
      } catch  where error.code == .limit {
        throw Problem.tooManyReaders
      }
    }

    /// - Throws: `permission` for a key that only reads.
    func checkMayWrite() throws(Problem) { guard key.right == .write else { throw Problem.permission } }
  }
#endif
