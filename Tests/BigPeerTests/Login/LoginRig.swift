#if Server
  import BigPeer
  import CRDTCore
  import Foundation
  import Links
  import LoginKit
  import Synchronization
  import TestKit
  import Testing

  /// A login endpoint with a webhook on this machine and tables in memory.
  final class LoginRig: Sendable {
    let webhook: HTTPSServer
    let endpoint: LoginEndpoint
    let storage: MemoryLoginStorage
    let audit: LoginAudit
    let revocations: Revocations
    let authority: PeerAuthority
    let log = LogLines()
    let clock: WallClock
    private let moment = Box(Mutex(Duration.seconds(1_000)))
    private let revoked = Box(Mutex<Set<PeerKey>>([]))
    private let folder: TemporaryDirectory

    static let url = "https://login.example.com/garage"
    /// What the webhook says of a good token.
    static let grant = """
      {"authenticated": true, "userID": "ann", "expirationSeconds": 3600,
       "permissions": {"read": {"everything": true, "queriesByCollection": {}}, "write": {"everything": true}}}
      """

    init(
      intermediate validity: TimeInterval = 86_400, webhookTime: Duration = .seconds(5),
      longestValidity: Duration = .seconds(86_400), storage: MemoryLoginStorage = MemoryLoginStorage(),
      limits bounds: BigPeerConfiguration.LoginLimits = .init(),
      answer: @escaping @Sendable (HTTPSServer.Request) -> HTTPSServer.Reply = { _ in
        .answer(200, ["Content-Type: application/json"], LoginRig.grant)
      }
    ) async throws {
      folder = try TemporaryDirectory()
      let now = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded())
      clock = WallClock(now)
      authority = try PeerAuthority(application: "garage", validity: now - 86_400..<now + 8_640_000)
      let intermediate = try authority.makeIntermediate(validity: now - 3_600..<now + validity)
      let file = folder.file("server.pem")
      try Self.write(try intermediate.pem, to: file)
      webhook = try await HTTPSServer(.plain, answer: answer)
      self.storage = storage
      let audit = LoginAudit(storage, bounds)
      self.audit = audit
      let (wall, ends, moments) = (self.clock, self.revoked, self.moment)
      let times = LoginClock(now: { wall.now }, moment: { moments.value.withLock { $0 } })
      revocations = try Revocations(storage, audit: audit, clock: times) { keys in
        ends.value.withLock { $0.formUnion(keys) }
      }
      endpoint = LoginEndpoint(
        LoginEndpoint.Parts(
          application: "garage", address: try HTTPSAddress(Self.url),
          issuer: try LoginIssuer(.file(file), application: "garage", now: now),
          webhook: LoginWebhook(
            try HTTPSAddress(orLoopback: "http://127.0.0.1:\(webhook.port)/hook"), authorityFile: nil,
            questions: bounds.questions, time: webhookTime),
          audit: audit, revocations: revocations, longestValidity: longestValidity, limits: bounds,
          clock: times, logger: log.logger))
    }

    /// The keys whose sessions were to end.
    var ended: Set<PeerKey> { revoked.value.withLock { $0 } }

    /// Writes a file that only its owner can read.
    static func write(_ text: String, to path: String, mode: Int = 0o600) throws {
      try Data(text.utf8).write(to: URL(filePath: path))
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }

    func advance(by duration: Duration) {
      moment.value.withLock { $0 += duration }
      clock.advance(by: duration / .seconds(1))
    }

    /// Asks for a challenge.
    func challenge(_ key: DeviceKey, from origin: String = "10.0.0.1") async throws -> String {
      let answer = await endpoint.challenge(
        Array(
          JSON.text(
            of: .map([
              "version": .int(1), "application": .string("garage"), "deviceKey": .string("\(key.peerKey)"),
            ])
          ).utf8), from: LoginOrigin(origin))
      #expect(answer.status == 200, "\(answer)")
      return try #require(answer.text("challenge"))
    }

    /// The body of a login.
    func request(
      _ key: DeviceKey, challenge: String, token: String = "ann's token", application: String = "garage",
      url: String = LoginRig.url
    ) throws -> [UInt8] {
      try LoginRequest(
        application: application, provider: "tests", token: token, challenge: challenge, key: key,
        address: HTTPSAddress(url)
      ).json
    }

    /// Logs in as a device does.
    func logIn(
      _ key: DeviceKey = DeviceKey(), token: String = "ann's token", from origin: String = "10.0.0.1"
    )
      async throws -> LoginAnswer
    {
      let challenge = try await challenge(key, from: origin)
      return await endpoint.login(
        try request(key, challenge: challenge, token: token), from: LoginOrigin(origin))
    }

    func refusals() throws -> [LoginEvent] {
      try #require(try audit.events(.refusals, after: nil, count: 1_000)).events
    }

    func issues() throws -> [LoginEvent] {
      try #require(try audit.events(.issues, after: nil, count: 1_000)).events
    }
  }

  /// Makes what cannot be copied something that closures can share.
  final class Box<Value: ~Copyable & Sendable>: Sendable {
    let value: Value
    init(_ value: consuming Value) { self.value = value }
  }

  /// What was handed over, one by one.
  struct Handed<Value: Sendable>: Sendable {
    let send: @Sendable (Value) -> Void
    private let stream: AsyncStream<Value>

    init() {
      let (stream, continuation) = AsyncStream.makeStream(of: Value.self)
      self.stream = stream
      send = { continuation.yield($0) }
    }

    /// Takes as many as are asked for.
    func next(_ count: Int) async -> [Value] {
      var values: [Value] = []
      for await value in stream {
        values.append(value)
        if values.count == count { break }
      }
      return values
    }
  }

  extension BigPeerConfiguration.LoginLimits {
    /// The defaults with something changed.
    static func changed(_ change: (inout Self) -> Void) -> Self {
      var limits = Self()
      change(&limits)
      return limits
    }
  }

  extension LoginAnswer {
    func text(_ name: TextKey) -> String? {
      guard case .string(let text)? = fields[name] else { return nil }
      return text
    }
  }
#endif
