import CRDTCore
import Links
import Logging
import NIOConcurrencyHelpers

extension PeerNetwork {
  /// Starts a task that `stop` waits for.
  ///
  /// - Returns: The task; `nil` when the network does not run.
  @discardableResult
  func spawn(
    dialing address: LinkAddress? = nil, isTimer: Bool = false,
    _ body: @escaping @Sendable (PeerNetwork) async -> Void
  ) -> Task<Void, Never>? {
    state.withLockedValue { state in
      guard state.isRunning else { return nil }
      let id = state.newID()
      // The task removes itself under the same lock, so it is added before it can be removed.
      let task = Task {
        await body(self)
        self.state.withLockedValue { state in
          state.tasks[id] = nil
          state.timers.remove(id)
        }
      }
      state.tasks[id] = task
      if let address { state.dialers[address] = id }
      if isTimer { state.timers.insert(id) }
      return task
    }
  }

  /// Listens on all addresses, on the ports that they had before the network was stopped.
  ///
  /// If such a port is taken, by another program or by an address that names it, any free port replaces it,
  /// and a condition is set.
  func open(_ addresses: [NetworkState.Listening]) throws(LinkError) {
    var taken: Set<TransportCondition> = []
    let (free, named) = (addresses.filter { $0.address.port == 0 }, addresses.filter { $0.address.port != 0 })
    for listening in named + free {
      let port: Int
      do throws(LinkError) {
        port = try open(listening.address, port: listening.port)
      } catch {
        guard error.code == .portInUse, listening.address.port == 0, let former = listening.port else {
          throw error
        }
        port = try open(listening.address)
        taken.insert(.portTaken(former))
      }
      state.withLockedValue { state in
        guard let place = state.listening.firstIndex(where: { $0.id == listening.id }) else { return }
        state.listening[place].port = port
      }
    }
    set(taken, by: .listening)
  }

  /// Listens on an address and serves the peers that connect.
  ///
  /// - Parameters:
  ///   - address: The address.
  ///   - port: The port; `nil` for the address's own.
  /// - Returns: The port in use.
  /// - Throws: As `listen`.
  @discardableResult
  func open(_ address: ListeningAddress, port: Int? = nil) throws(LinkError) -> Int {
    var tcp = options.tcp
    let course = DialingCourse()
    tcp.acceptFailed = { [logger = options.logger] error in
      // This error repeats for as long as no descriptor is free, and would fill the log.
      logger.log(level: course.isNews(error) ? .warning : .debug, "\(error.message); trying again soon")
    }
    let listener = try address.scheme.listen(
      host: address.host, port: port ?? address.port, options: tcp, halfOpen: halfOpen)
    state.withLockedValue { $0.listeners.append((address, listener)) }
    let accepting = spawn { network in
      await listener.accept { network.serve($0, .incoming) }
    }
    guard accepting != nil else {
      state.withLockedValue { $0.listeners.removeAll { $0.listener === listener } }
      listener.closeBlocking()
      throw LinkError(.closed, "The network is stopped")
    }
    options.logger.info("Listening on \(listener.address)")
    return listener.port
  }

  /// Maintains a connection to an address until the task that it starts is cancelled.
  func dial(_ address: LinkAddress) {
    spawn(dialing: address) { network in
      let dialer = address.dialer(network.options.tcp)
      let course = DialingCourse()
      await dialer.keepDialing(
        backoff: network.options.backoff, clock: network.setup.clock,
        longestDelay: { network.longestDelay }, ready: { await network.waitForCredentials() }
      ) { error, delay in
        network.record(failure: PlainText.of(error.message), at: address)
        network.attemptFailed(dialer.address, error, delay, course)
      } body: { link in
        course.connected()
        guard let (session, task) = network.serve(link, .outgoing, dialed: address) else { return false }
        await task.value
        network.recordFailure(of: session, at: address)
        let waited = await network.waitForOtherConnections(to: session.site)
        return session.wasOfUse(network.options.backoff) || waited >= network.options.backoff.resetAfter
      }
    }
  }

  /// Records that a session ended before the peers met, unless they are connected over another link.
  private func recordFailure(of session: ServedSession, at address: LinkAddress) {
    guard let end = session.failure else { return }
    let isElsewhere = session.site.map { isConnected(to: $0) } ?? false
    record(
      failure: isElsewhere ? nil : PlainText.of("No session with \(address): \(end.sentence)"), at: address)
  }

  private func isConnected(to site: SiteID) -> Bool {
    state.withLockedValue { $0.isConnected(to: site) }
  }

  private func attemptFailed(
    _ address: String, _ error: LinkError, _ delay: Duration, _ course: DialingCourse
  ) {
    // A peer that is away for long would fill the log with the same line.
    options.logger.log(
      level: course.isNews(error) ? .warning : .debug, "\(error.message); trying again in \(delay.text)")
    announce(.attemptFailed(address: address, error, retryAfter: delay))
  }

  /// Waits while another connection to the peer exists: dialing again would make a second one.
  ///
  /// - Returns: How long it waited.
  private func waitForOtherConnections(to site: SiteID?) async -> Duration {
    guard let site else { return .zero }
    let start = setup.clock.now
    await park { [state] latch in
      while !Task.isCancelled, state.withLockedValue({ $0.isConnected(to: site) }) { await latch.wait() }
    }
    return setup.clock.now - start
  }

  /// Runs `body` with a latch that is signalled when a session has ended or credentials have changed.
  func park(_ body: (Latch) async -> Void) async {
    let latch = Latch()
    let id = state.withLockedValue { state in
      let id = state.newID()
      state.parked[id] = latch
      return id
    }
    await body(latch)
    _ = state.withLockedValue { $0.parked.removeValue(forKey: id) }
  }

  /// Sends an event to all observers.
  func announce(_ event: NetworkEvent) {
    for observer in state.withLockedValue({ Array($0.observers.values) }) { observer.yield(event) }
  }
}

/// What one dialer or listener has logged last.
private final class DialingCourse: Sendable {
  private let lastError = NIOLockedValueBox<String?>(nil)

  func connected() { lastError.withLockedValue { $0 = nil } }

  /// Whether an error says something else than the last one.
  ///
  /// Numbers do not count, since times of the clock and delays are among them.
  func isNews(_ error: LinkError) -> Bool {
    let text = error.message.filter { !$0.isNumber }
    return lastError.withLockedValue { last in
      defer { last = text }
      return last != text
    }
  }
}
