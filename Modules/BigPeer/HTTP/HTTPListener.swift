#if Server
  import HTTPTypes
  import Hummingbird
  import HummingbirdCore
  import HummingbirdTLS
  import Logging
  import NIOCore
  import NIOSSL
  import ServiceLifecycle

  /// A listener for HTTP with its routes, as a service.
  struct HTTPListener: Service {
    /// What it is called in messages: `http` or `admin`.
    let name: String
    let address: ListenAddress
    let tls: BigPeerConfiguration.TLS?
    let limits: HTTPLimits
    let routes: [any ServerRoute]
    let logger: Logger
    /// Hears of the address once it listens.
    let started: @Sendable (ListenAddress) -> Void

    func run() async throws {
      do {
        try await application().run()
      } catch is CancellationError {
        throw CancellationError()
      } catch {
        throw BigPeerError("\(name): \(address): \(error)", underlying: error)
      }
    }

    private func application() throws -> some ApplicationProtocol {
      let router = Router(context: ServerContext.self)
      for route in routes { route.add(to: router) }
      return Application(
        responder: ProblemResponder(router: router.buildResponder()), server: try server(),
        configuration: ApplicationConfiguration(address: .hostname(address.host, port: address.port)),
        onServerRunning: { [started, address] channel in
          started(ListenAddress(host: address.host, port: channel.localAddress?.port ?? address.port))
        }, logger: quiet)
    }

    /// The library tells of each start; the big peer does so itself.
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
          idleTimeout: TimeAmount(limits.idleTime), httpDecoderConfiguration: decoder))
      guard let tls else { return plain }
      var configuration = TLSConfiguration.makeServerConfiguration(
        certificateChain: try NIOSSLCertificate.fromPEMFile(tls.certificate).map { .certificate($0) },
        privateKey: .privateKey(try NIOSSLPrivateKey(file: tls.key, format: .pem)))
      configuration.minimumTLSVersion = .tlsv12
      return try .tls(plain, tlsConfiguration: configuration)
    }
  }

  /// Answers with a problem where a route fails or there is none.
  private struct ProblemResponder: HTTPResponder {
    let router: RouterResponder<ServerContext>

    func respond(to request: Request, context: ServerContext) async throws -> Response {
      do {
        return try await router.respond(to: request, context: context)
      } catch let problem as Problem {
        return problem.response
      }
    }
  }
#endif
