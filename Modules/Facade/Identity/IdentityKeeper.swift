#if TLS
  import DocStore
  import Synchronization
  import Transports

  /// Makes an open database prove its identity.
  ///
  /// It does so at the start, when the store gets another site, and when the certificate is renewed.
  final class IdentityKeeper: Sendable {
    /// Logs in and out, where the identity comes from logins.
    let login: LoginKeeper?
    /// Keeps the revocation lists.
    let revocations: RevocationKeeper
    private let device: DeviceIdentity
    /// Obeys the grant of this peer's certificate.
    let own: OwnGrant
    private let store: Store
    private let network: PeerNetwork
    private let reporter: Reporter
    private let state = Mutex(State())

    private struct State {
      /// Why the peer cannot prove its identity; it must not sync then.
      var failure: DunlinError?
      /// Called when the store takes a new site.
      var siteListener: CommitListener?
    }

    /// - Throws: `argument` or `identity` when the identity's settings for logins are invalid.
    init(
      _ identity: DunlinIdentity, _ device: DeviceIdentity, store: Store, network: PeerNetwork,
      subscriptions: SubscriptionRegistry, reporter: Reporter, _ configuration: DunlinConfiguration
    ) throws {
      self.device = device
      self.store = store
      self.network = network
      self.reporter = reporter
      let own = OwnGrant(store: store, subscriptions: subscriptions, reporter: reporter)
      self.own = own
      revocations = RevocationKeeper(
        store: store, network: network, reporter: reporter,
        neededWithin: configuration.revocationsNeededWithin)
      guard case .online(let login) = identity.proof else {
        self.login = nil
        return
      }
      self.login = try LoginKeeper(
        LoginKeeper.Parts(
          login: login, application: identity.appID, device: device, directory: store.directory,
          network: network, own: own,
          reporter: reporter, webAuthority: configuration.webAuthority,
          time: configuration.loginTime ?? LoginTime(clock: configuration.now)))
    }

    /// Makes the store's site follow from the device's key, and gives the network its credentials.
    ///
    /// An invalid certificate prevents sync, but not access to the peer's own data.
    func begin() throws {
      try device.claimSite(of: store)
      // Before there are credentials, with which sync can begin.
      try revocations.begin()
      if let login { try login.load() } else { prove() }
      let listener = store.onSiteChange { [weak self] _ in self?.proveAgain() }
      state.withLock { $0.siteListener = listener }
    }

    private func proveAgain() {
      guard let login else { return prove() }
      do {
        try login.load()
      } catch {
        reporter.fail("reading the last login", error)
      }
    }

    private func take(_ credentials: PeerCredentials) {
      network.prove(with: credentials)
      own.obey(credentials)
    }

    private func prove() {
      do {
        take(try translatingErrors { try device.credentials() })
        state.withLock { $0.failure = nil }
      } catch {
        let failure = DunlinError(any: error)
        state.withLock { $0.failure = failure }
        reporter.fail("proving who this peer is", failure)
      }
    }

    /// Replaces the identity by a renewed one.
    ///
    /// - Throws: `argument` when it is of another kind or application; `identity` when it is invalid. The
    ///   present one then stays.
    func update(_ identity: DunlinIdentity) async throws {
      do {
        try await device.replace(by: identity) { take($0) }
        state.withLock { $0.failure = nil }
      } catch {
        throw DunlinError.translating(error)
      }
    }

    /// - Throws: `identity` when the peer cannot prove its identity; `corrupt` when it has lost a list of
    ///   those whom it must refuse.
    func check() throws(DunlinError) {
      if let failure = state.withLock({ $0.failure }) { throw failure }
      try revocations.check()
    }

    /// Informs the login keeper that sync has started.
    func syncBegins() { login?.syncBegins() }

    func close() {
      login?.close()
      own.close()
      revocations.freshness?.close()
    }
  }
#endif
