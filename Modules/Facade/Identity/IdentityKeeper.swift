#if TLS
  import DocStore
  import Synchronization
  import Transports

  /// Sees to it that an open database proves who it is: now, when its key is another one, and when its certificate is renewed.
  final class IdentityKeeper: Sendable {
    /// Logs in and out, where the identity comes from logins.
    let login: LoginKeeper?
    private let device: DeviceIdentity
    private let store: Store
    private let network: PeerNetwork
    private let reporter: Reporter
    private let state = Mutex(State())

    private struct State {
      /// Why the peer cannot prove who it is, so that it must not sync.
      var failure: DunlinError?
      /// Hears when the store takes a new site.
      var siteListener: CommitListener?
    }

    /// - Throws: `argument` or `identity` when what the identity says of logins is not right.
    init(
      _ identity: DunlinIdentity, _ device: DeviceIdentity, store: Store, network: PeerNetwork,
      reporter: Reporter, _ configuration: DunlinConfiguration
    ) throws {
      self.device = device
      self.store = store
      self.network = network
      self.reporter = reporter
      guard case .online(let login) = identity.proof else {
        self.login = nil
        return
      }
      self.login = try LoginKeeper(
        LoginKeeper.Parts(
          login: login, application: identity.appID, device: device, directory: store.directory,
          network: network,
          reporter: reporter, webAuthority: configuration.webAuthority,
          time: configuration.loginTime ?? LoginTime(clock: configuration.now)))
    }

    /// Has the store's site follow from the device's key, and the network prove that it has the key.
    ///
    /// A certificate that is not right keeps the peer from syncing, and not from its own data.
    func begin() throws {
      try device.claimSite(of: store)
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

    private func prove() {
      do {
        network.prove(with: try translatingErrors { try device.credentials() })
        state.withLock { $0.failure = nil }
      } catch {
        let failure = DunlinError(any: error)
        state.withLock { $0.failure = failure }
        reporter.fail("proving who this peer is", failure)
      }
    }

    /// Takes a renewed identity in the place of the one before.
    ///
    /// - Throws: `argument` when it is of another kind or application; `identity` when it is not right; the one before stays.
    func update(_ identity: DunlinIdentity) async throws {
      do {
        try await device.replace(by: identity) { network.prove(with: $0) }
        state.withLock { $0.failure = nil }
      } catch {
        throw DunlinError.translating(error)
      }
    }

    /// - Throws: `identity` when the peer cannot prove who it is.
    func check() throws(DunlinError) { if let failure = state.withLock({ $0.failure }) { throw failure } }

    /// Sync has begun.
    func syncBegins() { login?.syncBegins() }

    func close() { login?.close() }
  }
#endif
