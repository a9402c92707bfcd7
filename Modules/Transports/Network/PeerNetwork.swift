import DocStore
public import Links
public import Logging
import NIOConcurrencyHelpers
public import QueryLanguage
package import SyncProtocol

/// All connections of one store: listens, connects, and runs a session on each link.
///
/// Addresses and subscriptions may be given before `start` and while the network runs; they survive a `stop`.
/// Two peers that both connect to each other keep one of the two connections, the same at both ends. While a
/// peer is connected and answers, no other connection replaces its own.
public final class PeerNetwork: Sendable {
  /// The settings of a network.
  public struct Options: Sendable {
    /// How TCP links are made and bounded.
    public var tcp = TCPOptions()
    /// The limits on the number of connections.
    public var limits = ConnectionLimits()
    /// Whether each peer must prove its identity.
    ///
    /// If so, this network makes no connection before it has credentials of its own.
    public var requiresProof = false
    /// The delays between attempts to connect.
    public var backoff = Backoff()
    /// The delays between attempts to connect to one candidate.
    public var candidateBackoff = Backoff(initial: .seconds(1), longest: .seconds(300))
    /// The description of this device that other peers get if they ask.
    public var device = Device()
    /// How long a peer that has left still counts as a neighbour, as it may come back.
    public var absence = Duration.seconds(5)
    /// Returns what a grant lets a peer do.
    ///
    /// It throws an error that says why this peer cannot enforce the grant; then the connection ends. Without
    /// it, no peer with a grant is admitted.
    package var access: (@Sendable (GrantTexts, PeerIdentity) throws(GrantRefusal) -> PeerAccess)?
    /// Whether sync can be held: see `PeerNetwork.hold(_:)`.
    package var canHold = false
    /// When a network that can meet nobody says so, after its start; `nil` for never.
    package var isolationDelay: Duration?
    /// After this long, neighbours are told again which revocation lists are held here.
    package var revocationInterval = Duration.seconds(600)
    /// The logger.
    ///
    /// Errors are logged as warnings, since the network tries again.
    public var logger = Logger(label: "dunlin.transports")

    /// The defaults.
    public init() {}
  }

  let setup: SessionDriver.Setup
  let options: Options
  let log: ConnectionLog
  let halfOpen: HalfOpenConnections
  /// Distinguishes this process from another one with the same key.
  let instance = UInt64.random(in: .min ... .max)
  let state: NIOLockedValueBox<NetworkState>
  /// The peers that are no longer trusted.
  let revoked: RevokedKeys
  #if TLS
    /// The revocation lists of this peer.
    package let revocations: RevocationLists
  #endif
  /// The grants of peers that were met.
  let grants = GrantBook()
  /// Lets nothing pass while sync is held; `nil` where it cannot be held.
  let heldGate: HeldGate?
  /// Wakes the task that dials candidates.
  let candidateWake = Latch()

  /// Makes a network without addresses; it does nothing before `start`.
  public init(setup: SessionDriver.Setup, options: Options = Options()) {
    var options = options
    options.logger = options.logger.plain
    heldGate = options.canHold ? HeldGate(setup.gate) : nil
    var setup = setup
    if let heldGate { setup.gate = heldGate }
    self.setup = setup
    self.options = options
    revoked = RevokedKeys()
    #if TLS
      revocations = RevocationLists(revoked: revoked)
    #endif
    log = ConnectionLog(options.logger)
    halfOpen = HalfOpenConnections(options.limits)
    let presence = PresenceState(start: StoreOptions.systemMilliseconds())
    state = NIOLockedValueBox(NetworkState(options, presence: presence))
  }

  // MARK: - Life

  /// Starts to listen and to connect; has no effect while the network runs.
  ///
  /// - Throws: `LinkError` when an address cannot be listened on, or there are too few file descriptors for
  ///   it; then the network does not run.
  public func start() throws(LinkError) {
    try TCP.checkDescriptors("Cannot begin to sync")
    guard !state.withLockedValue({ $0.isClosed }) else { throw LinkError(.closed, "The network was closed") }
    let addresses: [NetworkState.Listening]? = state.withLockedValue { state in
      guard !state.isRunning, !state.isClosed else { return nil }
      state.isRunning = true
      return state.listening
    }
    guard let addresses else { return }
    do throws(LinkError) {
      try open(addresses)
      try listenForNeighbours()
    } catch {
      requestStop()
      throw error
    }
    followSite()
    tellPresence()
    for address in state.withLockedValue({ $0.connecting.keys }) { dial(address) }
    dialCandidates()
    noteReach()
    warnIfIsolated()
    repeatRevocations()
  }

  /// Stops listening and connecting, ends all sessions in order, and waits until nothing is running.
  public func stop() async {
    requestStop()
    while let task = state.withLockedValue({ $0.tasks.first?.value }) { await task.value }
  }

  /// Stops for good: the streams of events end, and no later `start` has an effect.
  public func close() {
    requestStop()
    let observers = state.withLockedValue { state in
      defer { state.observers = [:] }
      state.requestHandler = nil
      state.isClosed = true
      return Array(state.observers.values)
    }
    for observer in observers { observer.finish() }
    setup.bell.close()
  }

  /// Starts to stop: ports are free when this returns; sessions end soon after.
  public func requestStop() {
    let (listeners, drivers, waiting) = state.withLockedValue { state in
      state.isRunning = false
      state.presence.forgetAll()
      state.departed.removeAll()
      state.siteListener = nil
      let listeners = state.listeners
      state.listeners = []
      let waiting = state.timers.union(state.dialers.values).compactMap { state.tasks[$0] }
      state.dialers = [:]
      for address in state.connecting.keys { state.connecting[address]?.failure = nil }
      return (listeners, state.sessions.values.map(\.driver), waiting)
    }
    pauseDiscovery()
    noteReach()
    set([], by: .listening)
    for (_, listener) in listeners { listener.closeBlocking() }
    for task in waiting { task.cancel() }
    // A session ends with a message to its peer, so it is asked to end and not cancelled.
    for driver in drivers { driver.close() }
    setup.bell.ring()
  }

  // MARK: - What sessions share

  /// Runs a session on a link that was made elsewhere, until it ends or the network stops.
  ///
  /// - Returns: Whether the network runs; if not, the link is closed.
  @discardableResult
  public func adopt(_ link: any Link, direction: PeerConnection.Direction) -> Bool {
    serve(link, direction) != nil
  }

  /// Replaces the subscriptions of this peer.
  ///
  /// - Parameters:
  ///   - queries: The queries whose documents are pulled from every peer.
  ///   - evicting: Those of the queries whose documents are evicted once they no longer match any.
  public func subscribe(to queries: [SubscriptionQuery], evicting: Set<SubscriptionQuery> = []) {
    // Done under the lock, so that every session ends with the newest set.
    state.withLockedValue { state in
      state.subscriptions = queries
      state.subscriptionsNumber += 1
      setup.shared.follow(queries, evicting: evicting, of: setup.store)
      let pulled = isHeld ? [] : queries
      for session in state.sessions.values {
        session.driver.subscribe(to: pulled, number: state.subscriptionsNumber)
      }
    }
  }

  /// Whether sync is held.
  package var isHeld: Bool { heldGate?.isHeld == true }

  /// Holds sync: peers stay connected, and no document goes to them or comes from them.
  ///
  /// Only for a network with ``Options/canHold``.
  ///
  /// - Parameter holds: Whether to hold it from now on.
  /// - Returns: Whether that is a change.
  @discardableResult
  package func hold(_ holds: Bool) -> Bool {
    guard let heldGate else { return false }
    let isChange = state.withLockedValue { state in
      guard heldGate.hold(holds) else { return false }
      state.subscriptionsNumber += 1
      let pulled = holds ? [] : state.subscriptions
      for session in state.sessions.values {
        session.driver.subscribe(to: pulled, number: state.subscriptionsNumber)
        session.driver.policyChanged()
      }
      return true
    }
    #if TLS
      // A peer that is held confirms nothing to others.
      if isChange, !holds { tellNeighbours { revocations.heads } }
    #endif
    return isChange
  }

  /// Says that the gate's answers have changed.
  public func policyChanged() {
    for session in state.withLockedValue({ Array($0.sessions.values) }) { session.driver.policyChanged() }
  }

  /// The current connections, oldest first; those whose peer has not said hello have no peer.
  public var connections: [PeerConnection] {
    state.withLockedValue { state in state.sessions.values.map(\.current).sorted { $0.id < $1.id } }
  }

  /// The current time, by the clock of ``PeerConnection/progress``.
  package var now: Duration { setup.clock.now }

  /// All events from now on; a listener that lags by more than 1,024 events loses the oldest.
  public func events() -> AsyncStream<NetworkEvent> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: NetworkEvent.self, bufferingPolicy: .bufferingNewest(1_024))
    let id = state.withLockedValue { state in
      let id = state.newID()
      if state.isClosed { continuation.finish() } else { state.observers[id] = continuation }
      return id
    }
    continuation.onTermination = { [weak self] _ in
      _ = self?.state.withLockedValue { $0.observers.removeValue(forKey: id) }
    }
    return stream
  }
}
