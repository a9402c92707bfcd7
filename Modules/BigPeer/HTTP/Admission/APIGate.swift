#if Server
  import Facade
  package import Hummingbird
  import HTTPTypes
  import QueryEngine
  import Synchronization
  import Transports

  /// Who may use the HTTP API, and how much of it.
  package final class APIGate: Sendable {
    private struct Rates {
      let start = ContinuousClock.now
      var byKey: RateLimiter<String>
      var byAddress: RateLimiter<ConnectionOrigin>

      /// Twice as many as in a second come at once.
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

    /// Where a request comes from.
    func address(of request: Request, _ context: ServerContext) -> ClientAddress {
      ClientAddress(context.remoteAddress, request.headers, proxies: proxies)
    }

    /// Counts a request of an address, whatever it asks for.
    ///
    /// - Throws: `rateLimit`.
    func count(_ address: ClientAddress) throws(Problem) {
      let wait = rates.withLock { $0.byAddress.take(address.origin, at: $0.now) }
      if let wait { throw Problem.rateLimit("the address", wait) }
    }

    /// Admits a request with a key that may do what it asks for.
    ///
    /// - Parameters:
    ///   - request: The request, whose body was not looked at.
    ///   - context: Learns whose key it is.
    ///   - right: What it needs.
    /// - Returns: Whose request it is; it counts until this is let go of.
    /// - Throws: `authentication`, `restored`, `permission`, `rateLimit`, `busy`.
    package func admit(
      _ request: Request, _ context: ServerContext, needing right: APIKey.Right
    ) throws(Problem) -> Admission {
      let (application, key) = try owner(of: request)
      context.record.note(application: application.id, key: key.id)
      guard key.right.covers(right) else { throw Problem.permission }
      let wait = rates.withLock { $0.byKey.take(key.id, at: $0.now) }
      if let wait { throw Problem.rateLimit("the key", wait) }
      try ledger.begin(for: key.id)
      return Admission(application, key, ledger, limits, context.record)
    }

    /// Whether the key of a request may be used still: for answers that last.
    func isValid(_ key: APIKey, of application: HostedApplication) -> Bool {
      application.keys.isValid(key.id, at: now())
    }

    private func owner(of request: Request) throws(Problem) -> (HostedApplication, APIKey) {
      guard let authorization = request.headers[.authorization] else { throw Problem.noKey }
      let parts = authorization.split(separator: " ")
      guard parts.count == 2, parts[0].lowercased() == "bearer", let token = APIKeyToken(parts[1]) else {
        throw Problem.wrongKey
      }
      for application in applications.all {
        guard let key = application.keys.key(for: token) else { continue }
        guard !key.isOver(at: now()) else { throw Problem.wrongKey }
        guard application.origin.accepts(key) else { throw Problem.restored }
        return (application, key)
      }
      throw Problem.wrongKey
    }
  }

  /// A request that is being answered: whose it is, and what it takes.
  package final class Admission: Sendable {
    package let application: HostedApplication
    package let key: APIKey
    let limits: HTTPLimits
    /// What becomes known of the request.
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
      // Relaxed: nobody else has this object any more.
      ledger.end(
        of: key.id, bytes: bytes.load(ordering: .relaxed), readers: readers.load(ordering: .relaxed))
    }

    /// Takes room for bytes of the body.
    ///
    /// - Throws: `busy`, `bodyTooLarge`.
    func reserve(_ count: Int) throws(Problem) {
      // Relaxed: one task reads a body.
      try ledger.reserve(count, beside: bytes.load(ordering: .relaxed), for: key.id)
      bytes.wrappingAdd(count, ordering: .relaxed)
    }

    /// Begins to read a result, which takes a thread.
    ///
    /// - Parameter begin: Begins, within the bounds of a statement of this request.
    /// - Returns: What `begin` returns.
    /// - Throws: `busy` when as many are read as may be; what `begin` throws.
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
