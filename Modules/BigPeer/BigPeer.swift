#if Server
  public import Logging
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
    private let started: @Sendable (BigPeerAddresses) -> Void
    private let running = Mutex<HostedApplications?>(nil)

    /// The applications while it runs, for the project's own tools.
    package var applications: HostedApplications? { running.withLock { $0 } }

    /// Makes a big peer; nothing is opened before it runs.
    ///
    /// - Parameters:
    ///   - configuration: What it is to be.
    ///   - logger: Takes log lines.
    ///   - started: Hears once that it serves, and where.
    public init(
      _ configuration: BigPeerConfiguration, logger: Logger = Logger(label: "bigpeer"),
      started: @escaping @Sendable (BigPeerAddresses) -> Void = { _ in }
    ) {
      self.configuration = configuration
      self.logger = logger
      self.started = started
    }

    /// Opens the applications, listens, and serves until the service group stops or the task is cancelled.
    ///
    /// A stop lets requests in flight end, for as long as the configuration says, and then closes everything.
    /// - Throws: `BigPeerError` that names what keeps it from serving; then nothing is left open.
    public func run() async throws {
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
      let count = [configuration.http.listen, configuration.admin.listen].compactMap(\.self).count
      guard count > 0 else {
        started(BigPeerAddresses(applications))
        return try await gracefulShutdown()
      }
      let board = StartBoard(BigPeerAddresses(applications), waitingFor: count, started)
      var group = ServiceGroupConfiguration(
        services: listeners(applications, board), logger: logger)
      group.maximumGracefulShutdownDuration = configuration.stopTime
      try await ServiceGroup(configuration: group).run()
    }

    private func listeners(_ applications: HostedApplications, _ board: StartBoard) -> [any Service] {
      var listeners: [any Service] = []
      if let address = configuration.http.listen {
        listeners.append(
          HTTPListener(
            name: "http", address: address, tls: configuration.http.tls, limits: configuration.http.limits,
            routes: routes(applications), logger: logger
          ) { [isSecure = configuration.http.tls != nil] address in
            board.record { $0.http = "\(isSecure ? "https" : "http")://\(address)" }
          })
      }
      if let address = configuration.admin.listen {
        listeners.append(
          HTTPListener(
            name: "admin", address: address, tls: nil, limits: configuration.http.limits,
            routes: adminRoutes(applications), logger: logger
          ) { address in
            board.record { $0.admin = "http://\(address)" }
          })
      }
      return listeners
    }

    /// What the HTTP listener answers: each part of the big peer adds its routes here.
    private func routes(_ applications: HostedApplications) -> [any ServerRoute] {
      [
        LoginRoute(
          endpoints: applications.all.compactMap(\.logins.endpoint), proxies: configuration.http.proxies)
      ]
    }

    /// What the listener for who runs the server answers.
    private func adminRoutes(_ applications: HostedApplications) -> [any ServerRoute] { [] }
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
