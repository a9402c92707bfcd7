import CRDTCore
import DocStore
public import Links
import Logging
import NIOConcurrencyHelpers
import SyncProtocol

extension PeerNetwork {
  /// Advertises this peer to its neighbours and connects to those that are found.
  ///
  /// This lasts from now on if the network runs, otherwise from `start` on, until `stopDiscovering`.
  ///
  /// The network advertises a port on which it listens for all networks of this machine; it opens one if
  /// there is none. What neighbours advertise is a hint: a peer must prove itself as over any other
  /// connection.
  /// - Parameters:
  ///   - discovery: The system's means of discovery.
  ///   - group: Only neighbours of the same group find each other. It protects nothing.
  ///   - host: The address to listen on; `nil` for all of them, by IPv6 and IPv4.
  ///   - port: The port to listen on; 0 for one on which the network listens already, or else any free one.
  /// - Throws: As `listen`.
  public func discover(
    using discovery: any PeerDiscovery = MulticastDiscovery(), group: UInt32 = 0, host: String? = nil,
    port: Int = 0
  ) throws(LinkError) {
    stopDiscovering()
    state.withLockedValue { state in
      state.discovery = DiscoveryState(id: state.newID(), discovery, group: group, host: host, port: port)
    }
    do throws(LinkError) {
      try listenForNeighbours()
    } catch {
      state.withLockedValue { $0.discovery = nil }
      throw error
    }
    candidateWake.signal()
  }

  /// Makes sure that the advertised port is one on which the network listens.
  ///
  /// - Throws: As `listen`.
  package func renewDiscovery() throws(LinkError) {
    try listenForNeighbours()
    candidateWake.signal()
  }

  /// Stops advertising this peer and dialing found peers; connections stay.
  public func stopDiscovering() {
    pauseDiscovery()
    let (discovery, listener) = state.withLockedValue { state in
      let discovery = state.discovery
      state.discovery = nil
      guard let own = discovery?.listener, own.isOwn,
        let place = state.listeners.firstIndex(where: { $0.listener.port == own.port })
      else { return (discovery, nil as (any LinkListener)?) }
      return (discovery, state.listeners.remove(at: place).listener)
    }
    guard discovery != nil else { return }
    listener?.closeBlocking()
    candidateWake.signal()
  }

  // MARK: - Conditions

  /// The conditions that keep the network from reaching peers now; `events` reports changes.
  public var conditions: Set<TransportCondition> {
    state.withLockedValue { $0.conditions.values.reduce(into: []) { $0.formUnion($1) } }
  }

  /// Checks which addresses lead to no peer, and whether a big peer is missing.
  ///
  /// The kind of an address is known once a peer was met there.
  func noteReach() {
    let conditions = state.withLockedValue { state -> Set<TransportCondition> in
      guard state.isRunning else { return [] }
      let failures = state.connecting.compactMap { address, destination in
        destination.failure.map { TransportCondition.unreachable(address: address.description, reason: $0) }
      }
      let isLacking =
        state.connecting.values.contains { $0.kind == .big }
        && !state.reachesBigPeer(setup.configuration.kind)
      return Set(failures + (isLacking ? [.noBigPeer] : []))
    }
    set(conditions, by: .dialing)
  }

  /// Records that this peer met another one at an address.
  func record(_ kind: PeerKind, at address: LinkAddress) {
    state.withLockedValue { state in
      state.connecting[address]?.kind = kind
      state.connecting[address]?.failure = nil
    }
    noteReach()
  }

  /// Records why an attempt to connect to an address led to no peer; `nil` if nothing is wrong.
  func record(failure: String?, at address: LinkAddress) {
    state.withLockedValue { state in
      if state.isRunning { state.connecting[address]?.failure = failure }
    }
    noteReach()
  }

  /// Replaces the conditions that one part of the network reports.
  func set(_ conditions: Set<TransportCondition>, by source: ConditionSource) {
    // Reported under the lock, so that the last set that observers see is the current one.
    let isNew = state.withLockedValue { state in
      guard state.conditions[source, default: []] != conditions else { return false }
      state.conditions[source] = conditions
      let all = state.conditions.values.reduce(into: Set<TransportCondition>()) { $0.formUnion($1) }
      for observer in state.observers.values { observer.yield(.conditions(all)) }
      return true
    }
    guard isNew else { return }
    // Failed attempts have log lines of their own, and only the application knows whether it needs a big
    // peer.
    let level = source == .dialing ? Logger.Level.debug : .warning
    for condition in conditions { options.logger.log(level: level, "\(condition)") }
  }

  // MARK: - Life

  /// Listens for neighbours, if this peer is to be advertised.
  func listenForNeighbours() throws(LinkError) {
    let (wanted, known) = state.withLockedValue { state in
      (
        state.isRunning ? state.discovery : nil,
        state.listeners.filter { $0.address.scheme.name == LinkSchemes.standard.name }.map(\.listener)
      )
    }
    guard let wanted, wanted.listener == nil else { return }
    let shared = known.first { listener in
      wanted.port == 0
        ? wanted.host == nil && ["::", "0.0.0.0"].contains(listener.host)
        : wanted.port == listener.port && wanted.host ?? listener.host == listener.host
    }
    if let shared {
      return setListener(shared.port, shared.host, isOwn: false)
    }
    let host = wanted.host ?? "::"
    do throws(LinkError) {
      setListener(try openForNeighbours(host, wanted.port), host, isOwn: true)
    } catch {
      // The system may lack IPv6.
      guard wanted.host == nil, ![.portInUse, .permissionDenied, .closed].contains(error.code) else {
        throw error
      }
      let host = "0.0.0.0"
      setListener(try openForNeighbours(host, wanted.port), host, isOwn: true)
    }
  }

  private func openForNeighbours(_ host: String, _ port: Int) throws(LinkError) -> Int {
    try open(ListeningAddress(host: host, port: port, scheme: LinkSchemes.standard))
  }

  private func setListener(_ port: Int, _ host: String, isOwn: Bool) {
    let listener = DiscoveryState.Listener(port: port, isIPv4Only: !host.utf8.contains(0x3A), isOwn: isOwn)
    state.withLockedValue { $0.discovery?.listener = listener }
  }

  /// Stops advertising; the goodbye has been sent when this returns.
  func pauseDiscovery() {
    let session = state.withLockedValue { state in
      defer { state.discovery?.session = nil }
      if !state.isRunning { state.discovery?.listener = nil }
      return state.discovery?.session
    }
    session?.stop()
  }

  /// Dials candidates in a separate task, and advertises this peer if requested.
  func dialCandidates() {
    spawn(isTimer: true) { await $0.followCandidates() }
  }

  private func followCandidates() async {
    let timer = SessionTimer(clock: setup.clock)
    timer.onDue { [candidateWake] in candidateWake.signal() }
    let run = state.withLockedValue { state in
      state.candidateRun = state.newID()
      return state.candidateRun
    }
    await withDiscardingTaskGroup { group in
      var advertised: Advertised?
      while !Task.isCancelled {
        advertised = advertise(insteadOf: advertised)
        let now = setup.clock.now
        let (due, next) = state.withLockedValue { state in
          let connected = state.connectedSites
          return (state.candidates.takeDue(connected: connected, now: now), state.candidates.next)
        }
        for attempt in due { group.addTask { await self.dial(attempt) } }
        timer.cancel()
        if let next { timer.wake(after: max(next - now, .milliseconds(1))) }
        await candidateWake.wait()
      }
      if let advertised { end(advertised, isCurrent: state.withLockedValue { $0.candidateRun == run }) }
    }
    timer.cancel()
  }

  // MARK: - Discovery

  private struct Advertised {
    let terms: DiscoveryState.Terms
    let session: any DiscoverySession
  }

  /// Starts to advertise the current terms.
  private func advertise(insteadOf old: Advertised?) -> Advertised? {
    let site = setup.store.site
    let (wanted, secret, credentials) = state.withLockedValue { state in
      (state.isRunning ? state.discovery : nil, discoverySecret(state), state.credentialsNumber)
    }
    let terms = wanted?.terms(site, credentials: credentials)
    if let old {
      if let terms, secret != nil, old.terms == terms { return old }
      end(old)
    }
    guard let wanted, let terms, let secret else { return nil }
    let instance = secret.instance(of: site, salt: .random(in: .min ... .max))
    state.withLockedValue { $0.candidates.ownInstance = instance }
    let advertisement = PeerAdvertisement(
      instance: instance, port: terms.listener.port, isIPv4Only: terms.listener.isIPv4Only,
      tag: { secret.tag(ofDay: $0, group: wanted.group) })
    let session = wanted.discovery.start(advertisement) { [weak self] in self?.take($0, secret) }
    let isWanted = state.withLockedValue { state in
      guard state.isRunning, state.discovery?.id == terms.id else { return false }
      state.discovery?.secret = secret
      state.discovery?.session = session
      return true
    }
    // A call that stopped discovery meanwhile did not know of this session.
    if !isWanted { session.stop() }
    return Advertised(terms: terms, session: session)
  }

  /// Stops an advertisement.
  ///
  /// - Parameters:
  ///   - advertised: The advertisement to stop.
  ///   - isCurrent: Whether no later run has candidates of its own.
  private func end(_ advertised: Advertised, isCurrent: Bool = true) {
    advertised.session.stop()
    guard isCurrent else { return }
    state.withLockedValue { $0.candidates.withdrawAll(from: .discovery) }
    set([], by: .discovery)
  }

  private func take(_ event: DiscoveryEvent, _ secret: DiscoverySecret) {
    switch event {
    case .found(let candidate):
      // To find an instance's site takes a code for each connected site, so it is done only once.
      let connected = state.withLockedValue { state in
        state.candidates.isKnown(candidate.id) ? [] : state.connectedSites
      }
      let site = connected.first { secret.isInstance(candidate.id, of: $0) }
      state.withLockedValue {
        $0.candidates.record(candidate, from: .discovery, site: site, now: setup.clock.now)
      }
    case .lost(let instance): state.withLockedValue { $0.candidates.withdraw(instance, from: .discovery) }
    case .conditions(let conditions): set(conditions, by: .discovery)
    }
    candidateWake.signal()
  }
}
