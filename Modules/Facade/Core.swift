import CRDTCore
import Dispatch
import DocStore
import DunlinControl
import DunlinFeed
import Foundation
import Logging
import QueryEngine
import ScopePolicy
import SyncProtocol
import Synchronization
import Transports

/// What the parts of one open database share.
final class Core: Sendable {
  let store: Store
  let engine: Engine
  let reporter: Reporter
  let observers: ObserverHub
  /// The readers of the change feed.
  let feeds: FeedHub
  let rowReaders = RowReaders()
  let transactionDeadline: Duration
  /// Milliseconds since 1970.
  let wallClock: @Sendable () -> UInt64
  let kept: KeptParameters
  let subscriptions: SubscriptionRegistry
  let network: PeerNetwork
  let presence: PresenceBoard
  let transports: TransportSettings
  /// Answers requests of the user's other processes while the control socket is open.
  let control: ControlSocket
  /// When the database was opened; the status report computes the uptime from it.
  let opening = ContinuousClock.now
  /// The application's id, and the name of the method by which this peer proves its identity.
  let membership: (appID: String, proof: String)
  #if TLS
    /// Proves this peer's identity; `nil` with the development identity.
    let identity: IdentityKeeper?
  #endif
  let scopes = SyncScopes()
  private let state = Mutex(State())

  private struct State {
    var isOpen = true
    var isSyncing = false
    /// How often sync was started.
    var runs: UInt64 = 0
  }

  init(path: String, identity: DunlinIdentity, configuration: DunlinConfiguration) throws {
    let reporter = Reporter(configuration, path: path)
    let control = ControlSocket(
      idleTime: configuration.controlIdleTime, isPlaceless: configuration.refusesLocalSockets)
    self.control = control
    membership = (identity.appID, identity.proof.name)
    self.reporter = reporter
    transactionDeadline = configuration.transactionDeadline
    let parameters = SystemParameters()
    let milliseconds = configuration.clock.map(Self.milliseconds) ?? StoreOptions.systemMilliseconds
    wallClock = milliseconds
    var storeOptions = StoreOptions(
      mapBytes: configuration.mapBytes, now: milliseconds, log: { reporter.log($0, $1) },
      transactionDeadline: configuration.transactionDeadline)
    storeOptions.readerDeadline = configuration.snapshotDeadline
    storeOptions.trustsCopies = configuration.trustsCopies
    if configuration.peerKind == .big {
      // Devices return to the big peer after an absence of any length, and it has the room for tombstones.
      storeOptions.tombstoneLifetime = .seconds(30 * 86_400)
      storeOptions.certificateLifetime = nil
    }
    try storeOptions.check()
    let directory = try HeldDirectory(making: path)
    kept = KeptParameters(directory: directory)
    #if TLS
      let device = DeviceIdentity(
        identity, keys: configuration.keyStore ?? KeyFile(directory: directory),
        clock: configuration.now)
      if let device {
        storeOptions.siteOfSalt = { (salt, reason) throws(StoreError) in
          try device.site(salt: salt, for: reason)
        }
      }
    #endif
    let store = try Store.open(in: directory, options: storeOptions)
    self.store = store
    engine = Engine(
      store: store, parameters: parameters,
      environment: EngineEnvironment(
        now: { DispatchTime.now().uptimeNanoseconds },
        wallClock: { Int64(clamping: milliseconds()) },
        zoneOffset: { zone, milliseconds in
          TimeZone(identifier: zone)?
            .secondsFromGMT(for: Date(timeIntervalSince1970: Double(milliseconds) / 1_000))
        }, appID: identity.appID, indexProgress: { control.report($0) }, log: { reporter.log(.warning, $0) }))
    observers = ObserverHub(engine: engine, reporter: reporter)
    feeds = FeedHub(store: store)
    var options = PeerNetwork.Options()
    options.logger = reporter.logger
    if let sessions = configuration.sessions { options.limits = ConnectionLimits(sessions: sessions) }
    options.tcp.webAuthority = configuration.webAuthority
    options.tcp.proxies = configuration.webProxies
    options.device = PeerNetwork.Device(name: configuration.peerName)
    #if TLS
      options.requiresProof = device != nil
    #endif
    var session = SessionConfiguration(
      kind: configuration.peerKind, peerName: configuration.peerName, appID: identity.appID,
      compressionLevel: configuration.compressionLevel)
    if configuration.waitsForPeers {
      (session.helloDeadline, session.silence, session.stall) = (
        .seconds(3_600), .seconds(3_600), .seconds(3_600)
      )
    }
    session.answersRemoteQueries = configuration.answersRemoteQueries
    session.peerMemoryBytes = configuration.peerMemoryBytes
    session.allPeersMemoryBytes = configuration.allPeersMemoryBytes
    let network = PeerNetwork(
      setup: SessionDriver.Setup(store: store, gate: scopes, configuration: session, engine: engine),
      options: options)
    self.network = network
    presence = PresenceBoard(network)
    transports = TransportSettings(network)
    subscriptions = SubscriptionRegistry(store: store, reporter: reporter) {
      network.subscribe(to: $0, evicting: $1)
    } ended: {
      network.statusChanged()
    }
    #if TLS
      self.identity = try device.map { device in
        try IdentityKeeper(
          identity, device, store: store, network: network, reporter: reporter, configuration)
      }
    #endif
    tellOfThemselves(network)
    do {
      try begin(parameters, keeping: configuration.keepsSystemParameters)
    } catch {
      // Otherwise the caller would find the files in use when it opens the database again.
      close()
      throw error
    }
  }

  /// Registers the system parameters, and starts proving this peer's identity.
  private func begin(_ parameters: SystemParameters, keeping isKeeping: Bool) throws {
    try parameters.govern(store)
    try govern(parameters)
    if isKeeping { try kept.govern(parameters, reporter) } else { kept.warnIfPresent(reporter) }
    #if TLS
      if let proof = self.identity {
        try proof.begin()
        return
      }
    #endif
    reporter.logger.warning(
      """
      The database uses the unsafe development identity: peers prove nothing and nothing is encrypted. \
      Do not ship this.
      """)
  }

  /// A wall clock in milliseconds since 1970.
  ///
  /// A time before 1970, and one that is not a number, counts as 0.
  private static func milliseconds(of clock: @escaping @Sendable () -> Date) -> @Sendable () -> UInt64 {
    {
      let seconds = clock().timeIntervalSince1970
      return seconds > 0 ? UInt64(min(seconds, 1e12) * 1_000) : 0
    }
  }

  /// Gives the engine what its virtual collections show of the sync layers above it.
  private func tellOfThemselves(_ network: PeerNetwork) {
    engine.providers.provideConnections { [weak network] in
      guard let network else { return [] }
      let now = (date: Date(), moment: network.now)
      return network.connections.map { $0.row(now) }
    }
    engine.providers.provideFacts { [weak subscriptions] in
      [
        [
          "namespace": .string("sync"), "key": .string("local_subscriptions"),
          "value": .array((subscriptions?.active ?? []).map { .string($0.queryText) }),
        ]
      ]
    }
  }

  /// Registers the parameter for sync scopes; a change affects outgoing documents at once.
  private func govern(_ parameters: SystemParameters) throws {
    let check = SyncScopes()
    parameters.register(
      "user_collection_sync_scopes", default: .map([:]),
      validate: { value in try check.set(value) },
      onChange: { [scopes, network, reporter] value in
        do {
          try scopes.set(value)
        } catch {
          reporter.fail("changing sync scopes", error)
        }
        network.policyChanged()
      })
  }

  // MARK: - Sync

  var isOpen: Bool { state.withLock { $0.isOpen } }

  var isSyncActive: Bool { state.withLock { $0.isSyncing } }

  func startSync() throws {
    let mustStart = try state.withLock { state throws(DunlinError) in
      guard state.isOpen else { throw DunlinError(.closed, "the database is closed") }
      #if TLS
        try identity?.check()
      #endif
      guard !state.isSyncing else { return false }
      state.isSyncing = true
      state.runs += 1
      return true
    }
    guard mustStart else { return }
    do {
      try network.start()
    } catch {
      state.withLock { $0.isSyncing = false }
      throw DunlinError(error)
    }
    #if TLS
      identity?.syncBegins()
    #endif
    // The database may have been closed in between; sync would then go on running.
    guard isOpen else {
      stopSync()
      throw DunlinError(.closed, "the database is closed")
    }
  }

  /// The number of the sync start that is in effect.
  ///
  /// - Throws: `closed`; `notSyncing` while it does not run.
  func currentRun() throws(DunlinError) -> UInt64 {
    try state.withLock { state throws(DunlinError) in
      guard state.isOpen else { throw DunlinError(.closed, "the database is closed") }
      guard state.isSyncing else { throw DunlinError(.notSyncing, "sync is not started") }
      return state.runs
    }
  }

  func stopSync() {
    state.withLock { $0.isSyncing = false }
    network.requestStop()
  }

  // MARK: - The end

  /// Ends everything, and waits for writes that are in flight, unless it is called from within one.
  ///
  /// A further call waits too, since the earlier call may have been made where it could not wait.
  func close() {
    state.withLock { $0.isOpen = false }
    stopSync()
    #if TLS
      identity?.close()
    #endif
    control.close()
    network.close()
    presence.close()
    observers.close()
    feeds.close()
    rowReaders.close()
    subscriptions.close()
    store.close()
  }
}
