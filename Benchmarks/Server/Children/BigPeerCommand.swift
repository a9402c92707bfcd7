#if Server
  import ArgumentParser
  import BenchmarkSupport
  import BigPeer
  import Foundation
  import Logging
  import ServiceLifecycle

  /// The process of the big peer: the server as others run it, with one application.
  struct BigPeerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "bigpeer", shouldDisplay: false)

    @Option var data: String
    @Option var port = 0
    @Option var collection: String
    @Flag var plain = false
    @Flag var http = false

    func run() async throws {
      Descriptors.raise()
      let configuration = makeConfiguration()
      var logger = Logger(label: "bigpeer") { StreamLogHandler.standardError(label: $0) }
      logger.logLevel = .error
      let (starts, start) = AsyncStream.makeStream(of: BigPeerAddresses.self)
      let bigPeer = BigPeer(configuration, logger: logger) {
        start.yield($0)
        start.finish()
      }
      let group = ServiceGroup(services: [bigPeer], logger: logger)
      try await withThrowingTaskGroup(of: Void.self) { tasks in
        tasks.addTask {
          defer { start.finish() }
          try await group.run()
        }
        tasks.addTask {
          var iterator = starts.makeAsyncIterator()
          guard let addresses = await iterator.next() else { return }
          try await ChildLoop.run(greeting: try Self.greeting(addresses, configuration)) { request in
            guard case .state = request else { throw BenchmarkError("a server has no answer to this") }
            return ChildLoop.state
          }
          await group.triggerGracefulShutdown()
        }
        try await tasks.waitForAll()
      }
    }

    private func makeConfiguration() -> BigPeerConfiguration {
      var configuration = BigPeerConfiguration(data: data)
      configuration.applications[0].devices = [ListenAddress(host: "127.0.0.1", port: port)]
      configuration.applications[0].subscriptions = [collection]
      if plain { configuration.applications[0].identity = .development }
      configuration.http.listen = http ? ListenAddress(host: "127.0.0.1", port: 0) : nil
      configuration.admin.listen = http ? ListenAddress(host: "127.0.0.1", port: 0) : nil
      // All clients have one address and one key here, and are to find no bound but the server's own.
      configuration.http.limits.requestsPerSecondByKey = 1_000_000
      configuration.http.limits.requestsPerSecondByAddress = 1_000_000
      return configuration
    }

    private static func greeting(
      _ addresses: BigPeerAddresses, _ configuration: BigPeerConfiguration
    ) throws -> Reply {
      var reply = Reply()
      reply.times = [Measures.nanoseconds]
      let application = configuration.applications[0]
      for (name, address) in [
        ("port", addresses.devices[application.id]?.first), ("http", addresses.http),
        ("admin", addresses.admin),
      ] {
        if let port = address.flatMap({ URL(string: $0)?.port }) { reply.figures[name] = Double(port) }
      }
      if application.identity != .development {
        reply.words["key"] = try String(contentsOfFile: application.sharedKeyPath, encoding: .utf8)
          .trimmingCharacters(in: .whitespacesAndNewlines)
      }
      return reply
    }
  }
#endif
