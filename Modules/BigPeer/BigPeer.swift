#if Server
  import Foundation
  import HTTPTypes
  public import Logging
  public import Metrics
  import NIOCore
  public import ServiceLifecycle
  import Synchronization

  /// A server for many devices and for web back ends, with embedded stores.
  ///
  /// Its ``run()`` is a service of swift-service-lifecycle.
  ///
  /// ```swift
  /// let bigPeer = BigPeer(BigPeerConfiguration(data: "/var/lib/bigpeer")) { print($0) }
  /// try await ServiceGroup(services: [bigPeer], gracefulShutdownSignals: [.sigterm], logger: logger).run()
  /// ```
  public final class BigPeer: Service {
    private let configuration: BigPeerConfiguration
    /// Reads the configuration again for a reload; `nil` if it was made in code.
    private let read: (@Sendable () throws -> BigPeerConfiguration)?
    private let logger: Logger
    private let metrics: [any MetricsFactory]
    private let started: @Sendable (BigPeerAddresses) -> Void
    private let running = Mutex<Running?>(nil)

    /// The parts that exist while it runs.
    private struct Running {
      let applications: HostedApplications
      let reloader: Reloader
    }

    /// The applications while it runs, for the project's own tools.
    package var applications: HostedApplications? { running.withLock { $0?.applications } }

    /// Makes a big peer; nothing is opened before it runs.
    ///
    /// - Parameters:
    ///   - configuration: The configuration.
    ///   - logger: Gets log lines.
    ///   - metrics: Backends of swift-metrics that get the figures, at least one. If a ``MetricsPage`` is
    ///     among them, `/metrics` returns it; without one there is no such path.
    ///   - started: Is called once with the addresses, when the big peer serves.
    public init(
      _ configuration: BigPeerConfiguration, logger: Logger = Logger(label: "bigpeer"),
      metrics: [any MetricsFactory] = [MetricsPage()],
      started: @escaping @Sendable (BigPeerAddresses) -> Void = { _ in }
    ) {
      self.configuration = configuration
      read = nil
      self.logger = logger
      self.metrics = metrics
      self.started = started
    }

    /// Makes a big peer whose configuration a reload reads again; nothing is opened before it runs.
    ///
    /// - Parameters:
    ///   - configuration: The configuration that the settings have now.
    ///   - settings: The flags and the environment with which it is read again, with the file that they name.
    ///   - logger: Gets log lines.
    ///   - metrics: Backends of swift-metrics that get the figures, at least one.
    ///   - started: Is called once with the addresses, when the big peer serves.
    public init(
      _ configuration: BigPeerConfiguration, rereading settings: BigPeerSettings,
      logger: Logger = Logger(label: "bigpeer"), metrics: [any MetricsFactory] = [MetricsPage()],
      started: @escaping @Sendable (BigPeerAddresses) -> Void = { _ in }
    ) {
      self.configuration = configuration
      read = { try BigPeerConfiguration.load(settings) }
      self.logger = logger
      self.metrics = metrics
      self.started = started
    }

    /// Opens the applications, listens, and serves until the service group stops or the task is cancelled.
    ///
    /// At a stop, requests in flight may finish within the configured time. Then everything is closed.
    /// - Throws: `ConfigurationError` for settings that do not go together; `BigPeerError` with what keeps it
    ///   from serving. Then nothing is left open.
    public func run() async throws {
      let material = try await StartMaterial(configuration, toleratesDamage: true)
      if let fault = material.certificateFault {
        logger.warning("Clients will refuse the HTTP listener, while devices can sync: \(fault)")
      }
      try await HTTPListener.check(configuration.http.listen, named: "http", configuration.places)
      try await HTTPListener.check(configuration.admin.listen, named: "admin", configuration.places)
      try await HTTPListener.check(configuration.monitor.listen, named: "monitor", configuration.places)
      let applications = try await HostedApplications.open(
        configuration.applications, material.applications, logger: logger)
      let parts = Parts(configuration, applications, material.certificate, metrics, logger, read)
      running.withLock { $0 = Running(applications: applications, reloader: parts.reloader) }
      defer { running.withLock { $0 = nil } }
      do {
        try await serve(parts)
      } catch {
        await applications.close()
        throw error
      }
      await applications.close()
    }

    /// Reads the configuration, and the certificates and keys that it names, again, without a stop.
    ///
    /// New connections, requests and logins use what is new; existing connections go on. A configuration
    /// that was made in code stays as it is. An application whose settings need it is closed and opened
    /// again.
    /// - Returns: What has changed, and which settings need a restart.
    /// - Throws: `ConfigurationError` with all mistakes, or `BigPeerError` for an application that cannot
    ///   take its settings; then nothing changes. `BigPeerError` when the big peer does not run.
    @discardableResult
    public func reload() async throws -> BigPeerReload { try await reloader.reload() }

    /// Uses another configuration, without a stop, as ``reload()`` does with the one that it reads.
    ///
    /// - Parameter configuration: The configuration, with the same directory for all data.
    /// - Returns: What has changed, and which settings need a restart.
    /// - Throws: As ``reload()``.
    @discardableResult
    public func reload(_ configuration: BigPeerConfiguration) async throws -> BigPeerReload {
      try await reloader.reload(configuration)
    }

    private var reloader: Reloader {
      get throws(BigPeerError) {
        guard let reloader = running.withLock({ $0?.reloader }) else {
          throw BigPeerError("the big peer does not run")
        }
        return reloader
      }
    }

    /// The objects that the listeners use.
    private struct Parts {
      let applications: HostedApplications
      let certificate: ServerCertificate?
      let gate: APIGate
      let ledger: ConnectionLedger
      let metrics: ServerMetrics
      let reloader: Reloader

      init(
        _ configuration: BigPeerConfiguration, _ applications: HostedApplications, _ key: CertifiedKey?,
        _ factories: [any MetricsFactory], _ logger: Logger,
        _ read: (@Sendable () throws -> BigPeerConfiguration)?
      ) {
        self.applications = applications
        certificate = key.map { ServerCertificate($0) }
        gate = APIGate(applications, configuration.http, now: BigPeer.now)
        ledger = ConnectionLedger(
          configuration.http.limits, proxies: configuration.http.proxies,
          admitsProxiesOnly: configuration.http.isBehindProxies, logger: logger)
        metrics = ServerMetrics(factories, applications, certificate, gate.ledger, ledger)
        reloader = Reloader(
          configuration,
          Reloader.Parts(
            applications: applications, certificate: certificate, gate: gate, connections: ledger,
            metrics: metrics), logger, read: read)
      }
    }

    private func serve(_ parts: Parts) async throws {
      try Directory.make(configuration.data)
      tell("The file of the admin's address cannot be removed") {
        try AdminAddress.remove(in: configuration.data)
      }
      defer { try? AdminAddress.remove(in: configuration.data) }
      guard configuration.admin.hasControlSocket else { return try await serveListeners(parts) }
      let control = ControlAccess()
      await control.open(in: configuration.data, parts.applications, logger)
      do {
        try await serveListeners(parts)
      } catch {
        await control.close()
        throw error
      }
      await control.close()
    }

    private func serveListeners(_ parts: Parts) async throws {
      let count = [configuration.http.listen, configuration.admin.listen, configuration.monitor.listen]
        .compactMap(\.self).count
      let board = StartBoard(BigPeerAddresses(parts.applications), waitingFor: count, started)
      var services = try listeners(parts, board)
      if count == 0 { started(BigPeerAddresses(parts.applications)) }
      if parts.metrics.hasOthers { services.append(parts.metrics) }
      guard !services.isEmpty else { return try await gracefulShutdown() }
      var group = ServiceGroupConfiguration(services: services, logger: logger)
      group.maximumGracefulShutdownDuration = configuration.stopTime
      try await ServiceGroup(configuration: group).run()
    }

    private func listeners(_ parts: Parts, _ board: StartBoard) throws -> [any Service] {
      var listeners: [any Service] = []
      if let address = configuration.http.listen {
        let scheme = parts.certificate == nil ? "http" : "https"
        listeners.append(
          HTTPListener(
            name: "http", address: address, places: configuration.places, certificate: parts.certificate,
            limits: configuration.http.limits, gate: parts.gate,
            crossOrigin: CrossOrigin(origins: configuration.http.origins),
            routes: Self.interfaceRoutes(parts.gate),
            logins: LoginRoute(parts.applications, proxies: TrustedProxies(configuration.http)),
            logger: logger,
            report: { [log = RequestLog(logger), metrics = parts.metrics] in
              metrics.record($0)
              log.log($0)
            }, ledger: parts.ledger
          ) { address in board.record { $0.http = "\(scheme)://\(address)" } })
      }
      if let address = configuration.admin.listen {
        var limits = HTTPLimits()
        limits.connections = Self.adminConnections
        let ledger = ConnectionLedger(limits, proxies: [], logger: logger)
        listeners.append(
          HTTPListener(
            name: "admin", address: address, places: configuration.places, limits: limits,
            isForThisMachine: true,
            routes: try adminRoutes(parts), logger: logger,
            report: { [log = RequestLog(logger)] in if $0.method != .get || $0.error != nil { log.log($0) } },
            ledger: ledger
          ) { [self] address in
            tell("The file of the admin's address cannot be written, so commands need --admin \(address)") {
              try AdminAddress.write(address, in: configuration.data)
            }
            board.record { $0.admin = "http://\(address)" }
          })
      }
      if let address = configuration.monitor.listen { listeners.append(monitor(at: address, parts, board)) }
      return listeners
    }

    /// The listener for monitoring, which anybody who reaches it may read.
    private func monitor(at address: ListenAddress, _ parts: Parts, _ board: StartBoard) -> HTTPListener {
      var limits = HTTPLimits()
      (limits.connections, limits.connectionsByAddress) = (Self.adminConnections, Self.adminConnections / 4)
      let routes = HealthRoutes(
        applications: parts.applications, metrics: parts.metrics, pace: MonitorPace())
      return HTTPListener(
        name: "monitor", address: address, places: configuration.places, limits: limits, routes: [routes],
        logger: logger,
        report: { [log = RequestLog(logger)] in if $0.method != .get || $0.error != nil { log.log($0) } },
        ledger: ConnectionLedger(limits, proxies: [], logger: logger)
      ) { address in board.record { $0.monitor = "http://\(address)" } }
    }

    private static let adminConnections = 64

    /// Does something without which the server can run, and logs a failure.
    private func tell(_ failure: String, _ body: () throws -> Void) {
      do { try body() } catch { logger.warning("\(failure): \(error)") }
    }

    /// Milliseconds since 1970.
    private static let now: @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1_000) }

    /// The routes of the HTTP interface, which `openapi.json` describes.
    ///
    /// - Parameter gate: Checks the keys of requests and counts them.
    /// - Returns: All routes below `/api`.
    package static func interfaceRoutes(_ gate: APIGate) -> [any ServerRoute] {
      [
        DescriptionRoute(), StatementRoute(gate: gate, now: now), DocumentRoutes(gate: gate),
        WriteRoute(gate: gate, now: now), RemoteRoute(gate: gate), FeedRoutes(gate: gate, now: now),
      ]
    }

    /// The routes of the administrator's listener.
    private func adminRoutes(_ parts: Parts) throws -> [any ServerRoute] {
      let admin = AdminRoutes(
        applications: parts.applications, reloader: parts.reloader,
        token: try AdminToken(in: configuration.data), now: Self.now)
      return [
        HealthRoutes(applications: parts.applications, metrics: parts.metrics), admin,
        LoginAdminRoutes(admin: admin), EraseAdminRoute(admin: admin),
        RulesAdminRoutes(admin: admin),
      ]
    }
  }

  /// The addresses of a running big peer.
  public struct BigPeerAddresses: Sendable, Hashable, CustomStringConvertible {
    /// Where devices connect, by the application's id: `tcp://…` and `ws://…`.
    public internal(set) var devices: [String: [String]]
    /// The HTTP API: `http://…` or `https://…`.
    public internal(set) var http: String?
    /// The administrator's listener.
    public internal(set) var admin: String?
    /// The listener for monitoring.
    public internal(set) var monitor: String?

    init(_ applications: HostedApplications) {
      devices = Dictionary(applications.all.map { ($0.id, $0.deviceAddresses) }) { $1 }
    }

    public var description: String {
      var lines = devices.sorted { $0.key < $1.key }.flatMap { id, addresses in
        addresses.map { "devices of \(id) at \($0)" }
      }
      if let http { lines.append("HTTP API at \(http)") }
      if let admin { lines.append("admin at \(admin)") }
      if let monitor { lines.append("monitor at \(monitor)") }
      return lines.joined(separator: "\n")
    }
  }

  /// Waits until all listeners are listening, and then reports their addresses.
  private final class StartBoard: Sendable {
    private struct State {
      var addresses: BigPeerAddresses
      var waiting: Int
    }

    private let state: Mutex<State>
    private let started: @Sendable (BigPeerAddresses) -> Void

    init(
      _ addresses: BigPeerAddresses, waitingFor count: Int,
      _ started: @escaping @Sendable (BigPeerAddresses) -> Void
    ) {
      state = Mutex(State(addresses: addresses, waiting: count))
      self.started = started
    }

    func record(_ change: (inout BigPeerAddresses) -> Void) {
      let all: BigPeerAddresses? = state.withLock { state in
        change(&state.addresses)
        state.waiting -= 1
        return state.waiting == 0 ? state.addresses : nil
      }
      if let all { started(all) }
    }
  }
#endif
