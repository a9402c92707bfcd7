#if TLS
  import CRDTCore
  import DocStore
  import Foundation
  import Links
  import Logging
  import Synchronization
  import Transports

  /// Keeps a device logged in.
  ///
  /// It exchanges tokens for certificates, stores the certificate on the disk, and has the network use it.
  final class LoginKeeper: Sendable {
    /// The objects that the keeper works with.
    struct Parts: Sendable {
      let login: OnlineLogin
      let application: String
      let device: DeviceIdentity
      let directory: HeldDirectory
      let network: PeerNetwork
      let own: OwnGrant
      let reporter: Reporter
      let webAuthority: String?
      let time: LoginTime
    }

    private struct State {
      var grant: LoginGrant?
      /// Counts logins and logouts: of several in progress only the newest has an effect.
      var attempt: UInt64 = 0
      /// The task that reports each status to the application.
      var telling: Task<Void, Never>?
      var isClosed = false
      weak var database: (any SyncingDatabase)?
    }

    private let parts: Parts
    private let client: LoginClient
    /// The authority that the application has configured.
    private let configured: TrustedAuthority?
    private let scheduler: LoginScheduler
    private let board = StatusBoard<DunlinAuthenticationStatus>()
    private let state = Mutex(State())
    /// Orders the changes to the file, to the state, and to the network's credentials.
    ///
    /// It is locked before all other locks.
    private let file: Mutex<LoginFile>

    /// - Throws: `argument` or `identity` when the address or the configured authority is invalid.
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

    /// Loads the last login from the file, and replaces the present one by it.
    ///
    /// A certificate is not used if it has expired, or if it is for another key, as in a copy of another
    /// device's files.
    ///
    /// - Throws: `permission` when others can read the file; `io`.
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
        // A login in progress is for the key that the device had before.
        state.withLock { $0.attempt += 1 }
        forget()
        scheduler.lost(isAsking: true)
      }
      changed()
    }

    /// Loads the certificate of the last login again if it is valid after all.
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

    /// Starts to ask the application to log in, and gives it the database.
    func serve(_ database: any SyncingDatabase) {
      let delegate = parts.login.delegate
      // A task of its own calls the application, which may then do anything. The thread that has just changed
      // the status must not call it.
      let telling = Task { [weak self, known = status, statuses = statuses()] in
        var known = known
        for await status in statuses where status != known {
          known = status
          guard let self else { return }
          delegate.authenticationStatusDidChange(authenticator: DunlinAuthenticator(keeper: self))
        }
      }
      state.withLock { ($0.database, $0.telling) = (database, telling) }
      scheduler.begin { [weak self] question in
        guard let self else { return }
        let authenticator = DunlinAuthenticator(keeper: self)
        switch question {
        // The clock may have been set back, so that the certificate is still valid.
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

    /// Asks for a login if there is none, since the sync that has just started waits for it.
    func syncBegins() {
      guard state.withLock({ $0.grant == nil }) else { return }
      parts.reporter.logger.info("Sync waits for a login at \(client.address)")
      scheduler.require()
    }

    // MARK: - Logging in and out

    /// Exchanges a token for a certificate.
    ///
    /// - Returns: The service's information for the application, as JSON.
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
        "Logged in at \(client.address)\(user), until \(certificate.validUntil.timeText)")
      changed()
    }

    /// Uses a certificate from now on; the caller holds the lock of `file`.
    private func take(_ grant: LoginGrant, obtained: Date) {
      state.withLock { $0.grant = grant }
      parts.network.prove(with: grant.credentials)
      parts.own.obey(grant.credentials)
      scheduler.granted(at: obtained, until: grant.certificate.validUntil)
    }

    /// Drops the certificate; the caller holds the lock of `file`.
    private func forget() {
      state.withLock { $0.grant = nil }
      parts.network.proveNothing()
      parts.own.forget()
    }

    private func failed(_ failure: DunlinError, _ error: LoginError?, _ attempt: UInt64) {
      // A caller that has cancelled, or has passed an invalid argument, knows that.
      if let error, error.code == .cancelled || error.code == .argument { return }
      let (isNewest, end) = state.withLock { state in
        (state.attempt == attempt, state.grant?.certificate.validUntil)
      }
      guard isNewest else { return }
      let delay = scheduler.failed(isPassing: error?.isPassing ?? false, retryAfter: error?.retryAfter)
      let until =
        end.map { "; the certificate from the last login holds until \($0.timeText)" } ?? ""
      parts.reporter.logger.warning(
        "\(failure.message)\(until); the application is asked again in \(delay.text)")
    }

    /// Handles the end of the certificate, unless another one has replaced it meanwhile.
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

    /// Stops sync and drops the certificate; data stays, and so does the authority by default.
    ///
    /// - Returns: The database, while the application still holds it.
    func logout(forgetsAuthority: Bool) throws -> (any SyncingDatabase)? {
      let database = try state.withLock { state throws(DunlinError) in
        guard !state.isClosed else { throw DunlinError(.closed, "the database is closed") }
        state.attempt += 1
        return state.database
      }
      database?.stopSync()
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
      return database
    }

    // MARK: - What is known

    /// The device that logs in, with the configured authority, or that of the first login.
    private func known() throws -> LoginClient.Device {
      let content = try file.withLock { file in try readable(file) }
      // An authority that cannot be read counts as none, like a file that cannot be read.
      let pinned = content.flatMap { content in
        content.application == parts.application ? try? TrustedAuthority(pem: content.authority) : nil
      }
      return try device(pinned: pinned)
    }

    /// The content of the file; a damaged file counts as none.
    private func readable(_ file: borrowing LoginFile) throws -> LoginFile.Content? {
      do {
        return try file.read()
      } catch let error as DunlinError where error.code == .corrupt {
        return nil
      }
    }

    private func device(pinned: TrustedAuthority?) throws -> LoginClient.Device {
      LoginClient.Device(
        application: parts.application, key: try parts.device.key(), authority: configured ?? pinned,
        isBigPeer: parts.device.isBigPeer)
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

    /// Records that the application has returned without a login.
    ///
    /// A login's own failure was logged where it happened.
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
