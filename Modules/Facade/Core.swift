import DocStore
import DunlinControl
import DunlinFeed
import Logging
import QueryEngine
import ScopePolicy
import Transports

/// Makes the parts of one open database, connects them, and closes them.
///
/// The parts do not know it: each gets what it needs.
final class Core: Sendable {
  let state: OpenState
  let local: LocalDatabase
  let sync: PeerSync
  let presence: PresenceBoard
  let transports: TransportSettings
  /// The readers of the change feed.
  let feeds: FeedHub
  /// Answers requests of the user's other processes while the control socket is open.
  let control: ControlSocket
  /// Milliseconds since 1970.
  let wallClock: @Sendable () -> UInt64
  /// The application's id, and the name of the method by which this peer proves its identity.
  let membership: (appID: String, proof: String)

  init(path: String, identity: DunlinIdentity, configuration: DunlinConfiguration) throws {
    try configuration.check(identity)
    let reporter = Reporter(configuration, path: path)
    let control = ControlSocket(
      idleTime: configuration.controlIdleTime, isPlaceless: configuration.refusesLocalSockets)
    let (parameters, scopes) = (SystemParameters(), SyncScopes())
    var storeOptions = try configuration.storeOptions(reporter)
    let isReadOnly = configuration.isReadOnly
    state = OpenState(isReadOnly: isReadOnly)
    let directory = isReadOnly ? try HeldDirectory(path) : try HeldDirectory(making: path)
    let kept = KeptParameters(directory: directory)
    #if TLS
      // A database that is only read never syncs, and a device's key would have to be written.
      let device =
        isReadOnly
        ? nil
        : DeviceIdentity(
          identity, configuration.peerKind, keys: configuration.keyStore ?? KeyFile(directory: directory),
          clock: configuration.now)
      device?.giveSites(to: &storeOptions)
      let requiresProof = device != nil
    #else
      let requiresProof = false
    #endif
    let store = try Store.open(in: directory, options: storeOptions)
    let engine = Engine(
      store: store, parameters: parameters,
      environment: configuration.engineEnvironment(appID: identity.appID, reporter) { control.report($0) })
    let network = PeerNetwork(
      setup: SessionDriver.Setup(
        store: store, gate: scopes, configuration: configuration.sessionConfiguration(appID: identity.appID),
        engine: engine),
      options: configuration.networkOptions(reporter, requiresProof: requiresProof))
    let watch = HandlerWatch(limit: configuration.handlerWarning, reporter: reporter)
    local = LocalDatabase(
      engine: engine, reporter: reporter,
      subscriptions: SubscriptionRegistry(store: store, reporter: reporter, network),
      transactionDeadline: configuration.transactionDeadline, watch: watch)
    #if TLS
      let subscriptions = local.subscriptions
      let keeper = try device.map { device in
        try IdentityKeeper(
          identity, device, store: store, network: network, subscriptions: subscriptions,
          reporter: reporter, configuration)
      }
      sync = PeerSync(network, scopes, state, keeper)
    #else
      sync = PeerSync(network, scopes, state)
    #endif
    presence = PresenceBoard(network, handlerWatch: watch)
    transports = TransportSettings(network)
    feeds = FeedHub(store: store)
    self.control = control
    wallClock = configuration.milliseconds
    membership = (identity.appID, identity.proof.name)
    engine.show(network, local.subscriptions)
    do {
      try begin(parameters, kept, configuration)
    } catch {
      // Otherwise the caller would find the files in use when it opens the database again.
      close()
      throw error
    }
  }

  /// Registers the system parameters, and starts proving this peer's identity.
  private func begin(
    _ parameters: SystemParameters, _ kept: KeptParameters, _ configuration: DunlinConfiguration
  ) throws {
    let reporter = local.reporter
    try parameters.govern(local.store)
    try sync.scopes.govern(parameters, sync.network, reporter)
    if configuration.keepsSystemParameters {
      try kept.govern(parameters, reporter)
    } else {
      kept.warnIfPresent(reporter)
    }
    if configuration.isReadOnly {
      parameters.keep { _ in throw DunlinError.readOnlyStore("ALTER SYSTEM changes the database") }
      return
    }
    #if TLS
      if let proof = sync.identity {
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

  /// Ends everything, and waits for writes that are in flight, unless it is called from within one.
  ///
  /// A further call waits too, since the earlier call may have been made where it could not wait.
  func close() {
    state.close()
    sync.stop()
    #if TLS
      sync.identity?.close()
    #endif
    control.close()
    sync.network.close()
    presence.close()
    local.observers.close()
    feeds.close()
    local.rowReaders.close()
    local.subscriptions.close()
    local.store.close()
  }
}
