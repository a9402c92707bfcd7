#if Server
  import BigPeer
  import Links
  import Logging
  import Metrics
  import ServiceLifecycle
  import TestKit
  import Testing

  /// A big peer that runs on free ports of loopback for as long as a test's body does.
  struct RunningBigPeer: Sendable {
    let configuration: BigPeerConfiguration
    let addresses: BigPeerAddresses
    let bigPeer: BigPeer

    /// A configuration with free ports, in a directory of the test's.
    static func configuration(in folder: TemporaryDirectory) -> BigPeerConfiguration {
      var configuration = BigPeerConfiguration(data: folder.path)
      configuration.applications[0].devices = [ListenAddress(host: "127.0.0.1", port: 0)]
      configuration.applications[0].limits.mapBytes = 1 << 30
      configuration.http.listen = ListenAddress(host: "127.0.0.1", port: 0)
      configuration.admin.listen = ListenAddress(host: "127.0.0.1", port: 0)
      return configuration
    }

    /// A free loopback port outside the range from which the system picks ports.
    ///
    /// A test can therefore announce the port before anything listens on it.
    static func freePort() async throws -> Int {
      while true {
        let port = Int.random(in: 20_000..<32_000)
        guard let listener = try? await TCPListener.bind(port: port) else { continue }
        await listener.close()
        return port
      }
    }

    /// Waits until a port of loopback can be listened on.
    ///
    /// The socket was closed here, but a process that another test is starting may hold a copy for a moment.
    private static func waitUntilFree(_ port: Int) async throws {
      while true {
        if let listener = try? await TCPListener.bind(port: port) { return await listener.close() }
        try await Task.sleep(for: .milliseconds(10))
      }
    }

    /// Runs `body` beside a big peer, which is stopped gracefully at the end.
    static func with<R: Sendable>(
      _ configuration: BigPeerConfiguration, logger: Logger = quietLogger,
      metrics: [any MetricsFactory] = [MetricsPage()],
      _ body: @escaping @Sendable (RunningBigPeer) async throws -> R
    ) async throws -> R {
      if let port = configuration.http.listen?.port, port > 0 { try await waitUntilFree(port) }
      let (starts, start) = AsyncStream.makeStream(of: BigPeerAddresses.self)
      let bigPeer = BigPeer(configuration, logger: logger, metrics: metrics) {
        start.yield($0)
        start.finish()
      }
      let group = ServiceGroup(services: [bigPeer], logger: quietLogger)
      return try await withThrowingTaskGroup(of: R?.self) { tasks in
        tasks.addTask {
          defer { start.finish() }
          try await group.run()
          return nil
        }
        tasks.addTask {
          var iterator = starts.makeAsyncIterator()
          guard let addresses = await iterator.next() else { return nil }
          let result: R
          do {
            result = try await body(
              RunningBigPeer(configuration: configuration, addresses: addresses, bigPeer: bigPeer))
          } catch {
            await group.triggerGracefulShutdown()
            throw error
          }
          await group.triggerGracefulShutdown()
          return result
        }
        var result: R?
        while let next = try await tasks.next() { result = next ?? result }
        return try #require(result)
      }
    }
  }

  extension HostedApplication {
    /// Opens an application by itself.
    static func open(_ configuration: BigPeerConfiguration.Application) async throws -> HostedApplication {
      try HostedApplication(
        configuration, try await ApplicationMaterial(configuration), logger: quietLogger)
    }
  }

  /// Takes no log lines.
  let quietLogger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
#endif
