#if Server
  import BigPeer
  import CRDTCore
  import Facade
  import Foundation
  import Hummingbird
  import Logging
  import NIOCore
  import NIOHTTP1
  import NIOPosix
  import ServiceLifecycle
  import Synchronization
  import TestKit
  import Testing

  /// An application with a change feed over HTTP, on a free loopback port while a test's body runs.
  struct FeedServer: Sendable {
    let application: HostedApplication
    /// A key that may write.
    let key: (id: String, token: String)
    let port: Int
    /// Stops the server as a signal would.
    let stop: @Sendable () async -> Void

    var feed: ApplicationFeed { application.feed }
    var parts: DunlinParts { application.parts }
    var store: DunlinStore { application.dunlin.store }

    /// Runs `body` beside a server, which is stopped gracefully at the end.
    static func with(
      _ settings: FeedSettings = FeedSettings(), at path: String? = nil, limits: HTTPLimits = HTTPLimits(),
      _ body: @escaping @Sendable (FeedServer) async throws -> Void
    ) async throws {
      let folder = try TemporaryDirectory()
      defer { withExtendedLifetime(folder) {} }
      var configuration = BigPeerConfiguration.Application(id: "tests", folder: path ?? folder.file("app"))
      configuration.devices = []
      configuration.limits.mapBytes = 1 << 30
      configuration.feed = settings
      let applications = try await HostedApplications.open(
        [configuration], [try await ApplicationMaterial(configuration)], logger: quietLogger)
      let application = try #require(applications.all.first)
      let made = try await application.keys.make(name: "tests", right: .write, now: 0, expires: nil)
      let now: @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1_000) }
      let router = Router(context: ServerContext.self)
      var http = BigPeerConfiguration.HTTP()
      http.limits = limits
      FeedRoutes(gate: APIGate(applications, http, now: now), now: now).add(to: router)
      let (starts, start) = AsyncStream.makeStream(of: Int.self)
      let server = Application(
        router: router, configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
        onServerRunning: { start.yield($0.localAddress?.port ?? 0) }, logger: quietLogger)
      let group = ServiceGroup(services: [server], logger: quietLogger)
      try await withThrowingTaskGroup(of: Void.self) { tasks in
        tasks.addTask {
          defer { start.finish() }
          try await group.run()
        }
        tasks.addTask {
          var iterator = starts.makeAsyncIterator()
          guard let port = await iterator.next() else { return }
          let server = FeedServer(application: application, key: (made.key.id, made.token), port: port) {
            await group.triggerGracefulShutdown()
          }
          do {
            try await body(server)
          } catch {
            await group.triggerGracefulShutdown()
            throw error
          }
          await group.triggerGracefulShutdown()
        }
        try await tasks.waitForAll()
      }
      await applications.close()
    }

    // MARK: - Requests

    /// The header of a new key that only reads.
    func readingKey() async throws -> (String, String) {
      let made = try await application.keys.make(name: "reader", right: .read, now: 0, expires: nil)
      return ("Authorization", "Bearer \(made.token)")
    }

    struct Answer: Sendable {
      let status: Int
      let headers: HTTPHeaders
      let text: String

      var fields: [TextKey: Value] {
        guard case .map(let fields)? = try? JSON.parse(text) else { return [:] }
        return fields
      }
    }

    /// Asks, and waits for the whole answer.
    func ask(
      _ method: String, _ path: String, _ body: String? = nil, _ headers: [(String, String)] = []
    ) async throws -> Answer {
      try await open(method, path, body, headers) { stream in
        var text = ""
        while let more = try await stream.next() { text += more }
        return Answer(status: stream.status, headers: stream.headers, text: text)
      }
    }

    /// Asks, and hands the answer to `body` as it comes.
    func open<R: Sendable>(
      _ method: String, _ path: String, _ body: String? = nil, _ headers: [(String, String)] = [],
      _ read: @Sendable (inout AnswerStream) async throws -> R
    ) async throws -> R {
      let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
        .connect(host: "127.0.0.1", port: port) { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHTTPClientHandlers()
            return try NIOAsyncChannel(
              wrappingChannelSynchronously: channel,
              configuration: .init(
                inboundType: HTTPClientResponsePart.self, outboundType: HTTPClientRequestPart.self))
          }
        }
      return try await channel.executeThenClose { inbound, outbound in
        var fields: HTTPHeaders = [
          "Host": "127.0.0.1", "Content-Length": "\(body?.utf8.count ?? 0)", "Connection": "close",
          "Content-Type": "application/json", "Authorization": "Bearer \(key.token)",
        ]
        for (name, value) in headers { fields.replaceOrAdd(name: name, value: value) }
        try await outbound.write(
          .head(
            HTTPRequestHead(
              version: .http1_1, method: HTTPMethod(rawValue: method), uri: path, headers: fields)))
        if let body { try await outbound.write(.body(.byteBuffer(ByteBuffer(string: body)))) }
        try await outbound.write(.end(nil))
        var stream = AnswerStream(inbound.makeAsyncIterator())
        try await stream.begin()
        return try await read(&stream)
      }
    }

    /// Follows a stream of events.
    func follow<R: Sendable>(
      _ query: String, _ headers: [(String, String)] = [],
      _ read: @Sendable (inout AnswerStream) async throws -> R
    ) async throws -> R {
      try await open("GET", "/api/v4/changes?\(query)", nil, headers, read)
    }
  }

  /// An answer that comes bit by bit.
  struct AnswerStream {
    private var parts: NIOAsyncChannelInboundStream<HTTPClientResponsePart>.AsyncIterator
    private(set) var status = 0
    private(set) var headers = HTTPHeaders()
    private var text = ""

    fileprivate init(_ parts: NIOAsyncChannelInboundStream<HTTPClientResponsePart>.AsyncIterator) {
      self.parts = parts
    }

    fileprivate mutating func begin() async throws {
      guard case .head(let head)? = try await parts.next(isolation: #isolation) else { return }
      (status, headers) = (Int(head.status.code), head.headers)
    }

    /// The next bytes; `nil` at the end.
    mutating func next() async throws -> String? {
      guard case .body(let buffer)? = try await parts.next(isolation: #isolation) else { return nil }
      return String(buffer: buffer)
    }

    /// The next block of server-sent events without keep-alive blocks; `nil` at the end.
    mutating func event() async throws -> ServerEvent? {
      while true {
        if let end = text.firstRange(of: "\n\n") {
          let block = text[..<end.lowerBound]
          text.removeSubrange(..<end.upperBound)
          return ServerEvent(String(block))
        }
        guard let more = try await next() else { return nil }
        text += more
      }
    }

    /// The next events that are changes and the like.
    mutating func changes(_ count: Int) async throws -> [ServerEvent] {
      var found: [ServerEvent] = []
      while found.count < count, let event = try await event() {
        if event.data != nil { found.append(event) }
      }
      return found
    }
  }

  /// One block of server-sent events.
  struct ServerEvent: Sendable {
    var id: String?
    var data: String?
    var retry: String?
    var isHeartbeat = false

    init(_ block: String) {
      for line in block.split(separator: "\n") {
        if line.hasPrefix("id: ") { id = String(line.dropFirst(4)) }
        if line.hasPrefix("data: ") { data = (data ?? "") + line.dropFirst(6) }
        if line.hasPrefix("retry: ") { retry = String(line.dropFirst(7)) }
        if line.hasPrefix(":") { isHeartbeat = true }
      }
    }

    var fields: [TextKey: Value] {
      guard let data, case .map(let fields)? = try? JSON.parse(data) else { return [:] }
      return fields
    }

    /// What the event says: `upsert a`.
    var words: String {
      guard let method = fields.members("change")?.string("method") else {
        return fields.string("type") ?? "nothing"
      }
      return "\(method) \(fields.string("documentId") ?? "?")"
    }
  }

  extension String {
    /// As it stands in an address.
    var escaped: String {
      utf8.map { byte in
        let isPlain =
          (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
        return isPlain
          ? String(UnicodeScalar(byte)) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
      }.joined()
    }
  }
#endif
