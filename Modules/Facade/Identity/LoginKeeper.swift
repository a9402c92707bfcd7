#if TLS
  import CRDTCore
  import DocStore
  import Foundation
  import Logging
  import Synchronization
  import Transports

  /// Keeps a device logged in: exchanges tokens for certificates, keeps the certificate on disk, and has the network prove itself
  /// with it.
  final class LoginKeeper: Sendable {
    /// What the keeper works with.
    struct Parts: Sendable {
      let login: OnlineLogin
      let application: String
      let device: DeviceIdentity
      let directory: HeldDirectory
      let network: PeerNetwork
      let reporter: Reporter
      let webAuthority: String?
      let time: LoginTime
    }

    private struct State {
      var grant: LoginGrant?
      /// Counts logins and logouts: of several that are under way only the newest has an effect.
      var attempt: UInt64 = 0
      /// Tells the application of each status.
      var telling: Task<Void, Never>?
      var isClosed = false
      weak var dunlin: Dunlin?
    }

    private let parts: Parts
    private let client: LoginClient
    /// The authority that the application has configured.
    private let configured: TrustedAuthority?
    private let scheduler: LoginScheduler
    private let board = LoginStatusBoard()
    private let state = Mutex(State())
    /// Puts changes in order, of what is on disk, of what is known, and of what the network proves; taken before all other locks.
    private let file: Mutex<LoginFile>

    /// - Throws: `argument` or `identity` when the address or the configured authority is none.
    init(_ parts: Parts) throws {
      self.parts = parts
      client = LoginClient(
        try HTTPSAddress(parts.login.url), http: HTTPSClient(authorityFile: parts.webAuthority),
        now: parts.time.now)
      configured = try parts.login.authority.map { try TrustedAuthority(pem: $0) }
      scheduler = LoginScheduler(parts.time)
      file = Mutex(LoginFile(directory: parts.directory))
    }

    // MARK: - Life

    /// Takes what there is of the last login, in place of what was taken before.
    ///
    /// What is kept for another key, as in a copy of another device's files, or has ended, is not taken.
    /// - Throws: `permission` where others can read the file; `io`.
    func load() throws {
      try file.withLock { file in
        do {
          if let content = try file.read(), let certificate = content.certificate,
            content.application == parts.application
          {
            let grant = try LoginGrant(
              certificate: certificate, authority: content.authority, for: try device(pinned: nil),
              clock: LoginGrant.Clock(now: parts.time.now))
            return take(grant, obtained: content.obtained ?? grant.certificate.validFrom)
          }
        } catch let error as LinkError {
          parts.reporter.logger.warning("What is kept of the last login is of no use: \(error)")
        } catch let error as DunlinError where error.code == .corrupt {
          parts.reporter.logger.warning("\(error.message)")
        }
        // A login that is under way is for the key that the device had before.
        state.withLock { $0.attempt += 1 }
        forget()
        scheduler.lost(isAsking: true)
      }
      changed()
    }

    /// Takes the certificate of the last login again where it holds after all.
    private func retake() -> Bool {
      let isTaken = file.withLock { file in
        guard state.withLock({ $0.grant == nil }), let content = try? file.read(),
          let certificate = content.certificate, content.application == parts.application,
          let device = try? device(pinned: nil),
          let grant = try? LoginGrant(
            certificate: certificate, authority: content.authority, for: device,
            clock: LoginGrant.Clock(now: parts.time.now))
        else { return false }
        take(grant, obtained: content.obtained ?? grant.certificate.validFrom)
        return true
      }
      if isTaken { changed() }
      return isTaken
    }

    /// Begins to ask the application, which is handed the database.
    func serve(_ dunlin: Dunlin) {
      let delegate = parts.login.delegate
      // The application is called where it may do whatever it likes, and not where something has just changed.
      let telling = Task { [weak self, known = status, statuses = statuses()] in
        var known = known
        for await status in statuses where status != known {
          known = status
          guard let self else { return }
          delegate.authenticationStatusDidChange(authenticator: DunlinAuthenticator(keeper: self))
        }
      }
      state.withLock { ($0.dunlin, $0.telling) = (dunlin, telling) }
      scheduler.begin { [weak self] question in
        guard let self else { return }
        let authenticator = DunlinAuthenticator(keeper: self)
        switch question {
        // The clock may have been set back, and the certificate still holds.
        case .required where retake(): break
        case .required: await delegate.authenticationRequired(authenticator: authenticator)
        case .expiringSoon(let seconds):
          await delegate.authenticationExpiringSoon(
            authenticator: authenticator, secondsRemaining: seconds)
        }
      } expired: { [weak self] in
        self?.expire()
      }
    }

    func close() {
      let telling = state.withLock { state in
        state.isClosed = true
        state.attempt += 1
        return state.telling
      }
      telling?.cancel()
      scheduler.close()
      board.close()
    }

    /// Asks for a login where there is none: sync has begun, and waits for it.
    func syncBegins() {
      guard state.withLock({ $0.grant == nil }) else { return }
      parts.reporter.logger.info("Sync waits for a login at \(client.address)")
      scheduler.require()
    }

    // MARK: - Logging in and out

    /// Exchanges a token for a certificate.
    ///
    /// - Returns: What the service has to say to the application, as JSON.
    @concurrent func login(token: String, provider: String) async throws(DunlinError) -> String? {
      let attempt = try begin()
      do {
        let grant = try await client.login(try known(), provider: provider, token: token)
        try keep(grant, attempt)
        return grant.clientInfo
      } catch {
        let failure = DunlinError(any: error)
        failed(failure, error as? LoginError, attempt)
        throw failure
      }
    }

    private func begin() throws(DunlinError) -> UInt64 {
      try state.withLock { state throws(DunlinError) in
        guard !state.isClosed else { throw DunlinError(.closed, "the database is closed") }
        state.attempt += 1
        return state.attempt
      }
    }

    private func keep(_ grant: LoginGrant, _ attempt: UInt64) throws {
      let certificate = grant.certificate
      try file.withLock { file in
        guard state.withLock({ $0.attempt == attempt }) else {
          throw LoginError(
            .cancelled,
            "Another login, a logout or the end of the database came before this login's answer")
        }
        let obtained = max(parts.time.now(), certificate.validFrom)
        try file.write(
          LoginFile.Content(
            application: parts.application, authority: try grant.authority.pem,
            certificate: try certificate.pem, obtained: obtained))
        take(grant, obtained: obtained)
      }
      let user = certificate.user.map { " as \($0)" } ?? ""
      parts.reporter.logger.info(
        "Logged in at \(client.address)\(user), until \(certificate.validUntil.formatted(.iso8601))")
      changed()
    }

    /// Takes a certificate, inside the lock of `file`.
    private func take(_ grant: LoginGrant, obtained: Date) {
      state.withLock { $0.grant = grant }
      parts.network.prove(with: grant.credentials)
      scheduler.granted(at: obtained, until: grant.certificate.validUntil)
    }

    /// Forgets the certificate, inside the lock of `file`.
    private func forget() {
      state.withLock { $0.grant = nil }
      parts.network.proveNothing()
    }

    private func failed(_ failure: DunlinError, _ error: LoginError?, _ attempt: UInt64) {
      // Who gave up, or gave something that cannot be sent, knows that.
      if let error, error.code == .cancelled || error.code == .argument { return }
      let (isNewest, end) = state.withLock { state in
        (state.attempt == attempt, state.grant?.certificate.validUntil)
      }
      guard isNewest else { return }
      let delay = scheduler.failed(isPassing: error?.isPassing ?? false, retryAfter: error?.retryAfter)
      let until =
        end.map { "; the certificate from the last login holds until \($0.formatted(.iso8601))" } ?? ""
      parts.reporter.logger.warning(
        "\(failure.message)\(until); the application is asked again in \(delay.text)")
    }

    /// The certificate has ended, unless there is another one meanwhile.
    private func expire() {
      let hasEnded = file.withLock { _ in
        let end = state.withLock { $0.grant?.certificate.validUntil }
        guard let end, end <= parts.time.now() else { return false }
        forget()
        return true
      }
      guard hasEnded else { return }
      parts.reporter.logger.warning(
        "The certificate from the login at \(client.address) has ended: sync waits for another login")
      changed()
    }

    /// Stops sync and forgets the certificate; data stays, and the authority unless it is to be forgotten too.
    ///
    /// - Returns: The database, as long as the application keeps it.
    func logout(forgetsAuthority: Bool) throws -> Dunlin? {
      let dunlin = try state.withLock { state throws(DunlinError) in
        guard !state.isClosed else { throw DunlinError(.closed, "the database is closed") }
        state.attempt += 1
        return state.dunlin
      }
      dunlin?.stopSync()
      let result = Result {
        try file.withLock { file in
          forget()
          scheduler.lost(isAsking: false)
          let content = try readable(file)
          guard !forgetsAuthority, let content else { return try file.remove() }
          try file.write(
            LoginFile.Content(application: content.application, authority: content.authority))
        }
      }
      changed()
      try translatingErrors { try result.get() }
      parts.reporter.logger.info("Logged out; the data stays")
      return dunlin
    }

    // MARK: - What is known

    /// Who logs in, with the authority that is known of: the configured one, or that of the first login.
    private func known() throws -> LoginClient.Device {
      let content = try file.withLock { file in try readable(file) }
      // One that cannot be read is as good as none, like a file that cannot.
      let pinned = content.flatMap { content in
        content.application == parts.application ? try? TrustedAuthority(pem: content.authority) : nil
      }
      return try device(pinned: pinned)
    }

    /// What is kept of the last login; one that is damaged is as good as none.
    private func readable(_ file: borrowing LoginFile) throws -> LoginFile.Content? {
      do {
        return try file.read()
      } catch let error as DunlinError where error.code == .corrupt {
        return nil
      }
    }

    private func device(pinned: TrustedAuthority?) throws -> LoginClient.Device {
      LoginClient.Device(
        application: parts.application, key: try parts.device.key(), authority: configured ?? pinned)
    }

    var status: DunlinAuthenticationStatus {
      let certificate = state.withLock { $0.grant?.certificate }
      guard let certificate, parts.time.now() < certificate.validUntil else {
        return DunlinAuthenticationStatus(isAuthenticated: false, userID: nil, validUntil: nil)
      }
      return DunlinAuthenticationStatus(
        isAuthenticated: true, userID: certificate.user, validUntil: certificate.validUntil)
    }

    func statuses() -> AsyncStream<DunlinAuthenticationStatus> { board.statuses { status } }

    private func changed() { board.publish { status } }

    /// Takes why the application has come back without a login; a login's own failure was logged where it happened.
    func gaveUp(_ error: any Error) {
      scheduler.gaveUp()
      let isCancelled = error is CancellationError || (error as? DunlinError)?.code == .cancelled
      guard !isCancelled, !(error is DunlinError) else { return }
      parts.reporter.fail(
        "logging in",
        DunlinError(.authentication, "the application has no token for a login", underlying: error))
    }
  }
#endif
