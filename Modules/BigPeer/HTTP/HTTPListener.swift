#if Server
  import HTTPTypes
  import Hummingbird
  import HummingbirdCore
  import HummingbirdTLS
  import Links
  import Logging
  import NIOCore
  import NIOPosix
  import ServiceLifecycle

  /// A listener for HTTP with its routes, as a service.
  struct HTTPListener: Service {
    /// Its name in messages: `http` or `admin`.
    let name: String
    let address: ListenAddress
    /// The places of its settings.
    let places: SettingPlaces
    var certificate: ServerCertificate?
    let limits: HTTPLimits
    /// Counts requests; `nil` if nothing is counted.
    var gate: APIGate?
    var crossOrigin = CrossOrigin(origins: [])
    /// Whether requests must name this machine as their host, if the listener is reached from it alone.
    var isForThisMachine = false
    let routes: [any ServerRoute]
    /// The login endpoints; `nil` if the listener has none.
    var logins: LoginRoute?
    let logger: Logger
    /// Is called with a report of each request that was answered.
    let report: @Sendable (RequestReport) -> Void
    /// The connections.
    let ledger: ConnectionLedger
    /// Is called with the address once it is listening.
    let started: @Sendable (ListenAddress) -> Void

    func run() async throws {
      do {
        try await application().run()
      } catch is CancellationError {
        throw CancellationError()
      } catch {
        throw Self.failure(error, name, address, places)
      }
    }

    private static func failure(
      _ error: any Error, _ name: String, _ address: ListenAddress, _ places: SettingPlaces
    ) -> BigPeerError {
      let message = LinkError(tcp: error, "Cannot listen on \(address)").message
      return BigPeerError(places.fault("\(name).listen", message).description, underlying: error)
    }

    /// Finds out whether an address can be listened on, before anything is opened.
    ///
    /// Otherwise the services that have started by then would be cancelled, and would log that.
    /// - Throws: `BigPeerError` with the place of the setting, where another program has the port.
    static func check(
      _ address: ListenAddress?, named name: String, _ places: SettingPlaces
    ) async throws(BigPeerError) {
      guard let address, address.port != 0 else { return }
      do {
        let channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
          .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
          .bind(host: address.host, port: address.port).get()
        try await channel.close()
      } catch {
        throw failure(error, name, address, places)
      }
    }

    private func application() throws -> some ApplicationProtocol {
      let router = Router(context: ServerContext.self, options: .autoGenerateHeadEndpoints)
      for route in routes { route.add(to: router) }
      let responder = FrontResponder(
        router: router.buildResponder(), routes: RouteList(router), gate: gate, crossOrigin: crossOrigin,
        isLocal: isForThisMachine && address.isLoopback, connections: ledger, report: report,
        logins: logins)
      return Application(
        responder: responder, server: try server(),
        configuration: ApplicationConfiguration(
          address: .hostname(address.host, port: address.port), backlog: max(256, limits.connections)),
        onServerRunning: { [started, address] channel in
          started(ListenAddress(host: address.host, port: channel.localAddress?.port ?? address.port))
        }, logger: quiet)
    }

    /// The library logs each start; the big peer does so itself.
    private var quiet: Logger {
      var logger = logger
      logger.logLevel = max(logger.logLevel, .notice)
      return logger
    }

    private func server() throws -> HTTPServerBuilder {
      let decoder = HTTP1Channel.Configuration.DecoderConfiguration(
        maxHeaderFieldSize: limits.headerBytes, maxHeaderListSize: limits.headerBytes,
        maxHeaderFieldCount: limits.headerCount)
      let plain = HTTPServerBuilder.http1(
        configuration: HTTP1Channel.Configuration(
          additionalChannelHandlers: [ConnectionGuard(ledger, ledger.limits, report: report)],
          idleTimeout: TimeAmount(limits.idleTime),
          httpDecoderConfiguration: decoder))
      guard let certificate else { return plain }
      return try .tls(plain, tlsConfiguration: certificate.configuration)
    }
  }
#endif
