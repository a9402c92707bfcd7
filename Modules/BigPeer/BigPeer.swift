#if Server
  import Foundation
  import HTTPTypes
  public import Logging
  public import Metrics
  import NIOCore
  public import ServiceLifecycle
  import Synchronization

  /// A server for many devices and for web back ends, with embedded stores; its ``run()`` is a service of swift-service-lifecycle.
  ///
  /// ```swift
  /// let bigPeer = BigPeer(BigPeerConfiguration(data: "/var/lib/bigpeer")) { print($0) }
  /// try await ServiceGroup(services: [bigPeer], gracefulShutdownSignals: [.sigterm], logger: logger).run()
  /// ```
  public final class BigPeer: Service {
    private let configuration: BigPeerConfiguration
    private let logger: Logger
    private let metrics: [any MetricsFactory]
    private let started: @Sendable (BigPeerAddresses) -> Void
    private let running = Mutex<HostedApplications?>(nil)

    /// The applications while it runs, for the project's own tools.
    package var applications: HostedApplications? { running.withLock { $0 } }

    /// Makes a big peer; nothing is opened before it runs.
    ///
    /// - Parameters:
    ///   - configuration: What it is to be.
    ///   - logger: Takes log lines.
    ///   - metrics: Backends of swift-metrics that take the figures, at least one. A ``MetricsPage`` among them is what `/metrics`
    ///     answers with; without one there is no such path.
    ///   - started: Hears once that it serves, and where.
    public init(
      _ configuration: BigPeerConfiguration, logger: Logger = Logger(label: "bigpeer"),
      metrics: [any MetricsFactory] = [MetricsPage()],
      started: @escaping @Sendable (BigPeerAddresses) -> Void = { _ in }
    ) {
      self.configuration = configuration
      self.logger = logger
      self.metrics = metrics
      self.started = started
    }

    /// Opens the applications, listens, and serves until the service group stops or the task is cancelled.
    ///
    /// A stop lets requests in flight end, for as long as the configuration says, and then closes everything.
    /// - Throws: `ConfigurationError` for settings that do not go together; `BigPeerError` that names what keeps it from serving. Then
    ///   nothing is left open.
    public func run() async throws {
      try configuration.check()
      let applications = try await HostedApplications.open(configuration.applications, logger: logger)
      running.withLock { $0 = applications }
      defer { running.withLock { $0 = nil } }
      do {
        try await serve(applications)
      } catch {
        await applications.close()
        throw error
      }
      await applications.close()
    }

    private func serve(_ applications: HostedApplications) async throws {
      try FileManager.default.createDirectory(
        atPath: configuration.data, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
      let count = [configuration.http.listen, configuration.admin.listen].compactMap(\.self).count
      guard count > 0 else {
        started(BigPeerAddresses(applications))
        return try await gracefulShutdown()
      }
      let board = StartBoard(BigPeerAddresses(applications), waitingFor: count, started)
      var group = ServiceGroupConfiguration(services: try listeners(applications, board), logger: logger)
      group.maximumGracefulShutdownDuration = configuration.stopTime
      try await ServiceGroup(configuration: group).run()
    }

    private func listeners(
      _ applications: HostedApplications, _ board: StartBoard
    ) throws -> [any Service] {
      let gate = APIGate(applications, configuration.http, now: now)
      let ledger = ConnectionLedger(
        configuration.http.limits, proxies: configuration.http.proxies, logger: logger)
      let metrics = ServerMetrics(metrics, applications, gate.ledger, ledger)
      var listeners: [any Service] = metrics.hasOthers ? [metrics] : []
      if let address = configuration.http.listen {
        let scheme = configuration.http.tls == nil ? "http" : "https"
        listeners.append(
          HTTPListener(
            name: "http", address: address, tls: configuration.http.tls, limits: configuration.http.limits,
            gate: gate, crossOrigin: CrossOrigin(origins: configuration.http.origins),
            routes: routes(applications, gate), logger: logger,
            report: { [logger] in
              metrics.record($0)
              $0.log(to: logger)
            }, ledger: ledger
          ) { address in board.record { $0.http = "\(scheme)://\(address)" } })
      }
      if let address = configuration.admin.listen {
        var limits = HTTPLimits()
        limits.connections = Self.adminConnections
        let ledger = ConnectionLedger(limits, proxies: [], logger: logger)
        listeners.append(
          HTTPListener(
            name: "admin", address: address, limits: limits,
            routes: try adminRoutes(applications, metrics), logger: logger,
            report: { [logger] in if $0.method != .get || $0.error != nil { $0.log(to: logger) } },
            ledger: ledger
          ) { address in board.record { $0.admin = "http://\(address)" } })
      }
      return listeners
    }

    private static let adminConnections = 64

    /// Milliseconds since 1970.
    private let now: @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1_000) }

    /// What the HTTP listener answers: each part of the big peer adds its routes here.
    private func routes(_ applications: HostedApplications, _ gate: APIGate) -> [any ServerRoute] {
      [
        DescriptionRoute(), StatementRoute(gate: gate, now: now), DocumentRoutes(gate: gate),
        WriteRoute(gate: gate, now: now), RemoteRoute(gate: gate), FeedRoutes(gate: gate),
        LoginRoute(
          endpoints: applications.all.compactMap(\.logins.endpoint), proxies: configuration.http.proxies),
      ]
    }

    /// What the listener for who runs the server answers.
    private func adminRoutes(
      _ applications: HostedApplications, _ metrics: ServerMetrics
    ) throws -> [any ServerRoute] {
      let admin = AdminRoutes(
        applications: applications, token: try AdminToken(in: configuration.data), now: now)
      return [
        HealthRoutes(applications: applications, metrics: metrics), admin, LoginAdminRoutes(admin: admin),
      ]
    }
  }

  /// Where a big peer can be reached.
  public struct BigPeerAddresses: Sendable, Hashable, CustomStringConvertible {
    /// Where devices connect to, by the application's id: `tcp://…` and `ws://…`.
    public internal(set) var devices: [String: [String]]
    /// The HTTP API: `http://…` or `https://…`.
    public internal(set) var http: String?
    /// The listener for who runs the server.
    public internal(set) var admin: String?

    init(_ applications: HostedApplications) {
      devices = Dictionary(applications.all.map { ($0.id, $0.deviceAddresses) }) { $1 }
    }

    public var description: String {
      var lines = devices.sorted { $0.key < $1.key }.flatMap { id, addresses in
        addresses.map { "devices of \(id) at \($0)" }
      }
      if let http { lines.append("HTTP API at \(http)") }
      if let admin { lines.append("admin at \(admin)") }
      return lines.joined(separator: "\n")
    }
  }

  /// Waits until all listeners listen, and then tells so.
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
