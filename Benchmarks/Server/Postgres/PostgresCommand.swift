#if Server
  import ArgumentParser
  import BenchmarkSupport
  import Foundation
  import Hummingbird
  import Logging
  import NIOCore
  import ServiceLifecycle
  import Synchronization

  /// The process of a server as one would write it by hand: two routes, and PostgreSQL behind them.
  ///
  /// It uses the HTTP library of the big peer.
  struct PostgresCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "postgres", shouldDisplay: false)

    @Option var databasePort: Int
    @Option var connections: Int

    /// Bytes that a document may have.
    private static let bodyBytes = 1 << 20

    func run() async throws {
      let pool = try (0..<connections).map { _ in try PostgresConnection(port: databasePort) }
      let next = Atomic(0)
      let (starts, start) = AsyncStream.makeStream(of: Int.self)
      var logger = Logger(label: "postgres") { StreamLogHandler.standardError(label: $0) }
      logger.logLevel = .error
      let application = Application(
        router: Self.router { pool[next.wrappingAdd(1, ordering: .relaxed).oldValue % pool.count] },
        configuration: .init(address: .hostname("127.0.0.1", port: 0)),
        onServerRunning: { channel in start.yield(channel.localAddress?.port ?? 0) }, logger: logger)
      let group = ServiceGroup(services: [application], logger: logger)
      try await withThrowingTaskGroup(of: Void.self) { tasks in
        tasks.addTask {
          defer { start.finish() }
          try await group.run()
        }
        tasks.addTask {
          var iterator = starts.makeAsyncIterator()
          guard let port = await iterator.next() else { return }
          try await ChildLoop.run(greeting: Reply(figures: ["http": Double(port)])) { request in
            guard case .state = request else { throw BenchmarkError("a server has no answer to this") }
            return ChildLoop.state
          }
          await group.triggerGracefulShutdown()
        }
        try await tasks.waitForAll()
      }
    }

    private static func router(
      _ connection: @escaping @Sendable () -> PostgresConnection
    ) -> Router<BasicRequestContext> {
      let router = Router()
      router.put("/orders/:id") { request, context in
        let id = try context.parameters.require("id")
        let body = try await request.body.collect(upTo: bodyBytes)
        try await connection().put(id, String(buffer: body))
        return json(#"{"id":"\#(id)"}"#)
      }
      router.get("/orders/:id") { _, context in
        let id = try context.parameters.require("id")
        guard let document = try await connection().get(id) else { throw HTTPError(.notFound) }
        return json(document)
      }
      return router
    }

    private static func json(_ text: String) -> Response {
      Response(
        status: .ok, headers: [.contentType: "application/json"],
        body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }
  }
#endif
