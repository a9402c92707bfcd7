#if TLS
  import DunlinKit
  import Facade
  import Foundation
  import LoginKit
  import Synchronization
  import TestKit
  import Testing

  /// A device that logs in at a service, with a directory that outlives its database.
  struct LoginDevice: Sendable {
    let directory: TemporaryDirectory
    let delegate: TestDelegate
    let log = RecordedLog()
    let name: String

    init(_ name: String, token: String? = nil) throws {
      directory = try TemporaryDirectory()
      self.name = name
      delegate = TestDelegate(token: token ?? "\(name)'s token")
    }

    var path: String { directory.file("db") }
    var loginFile: String { path + "/login" }

    /// Opens the database.
    ///
    /// - Parameters:
    ///   - service: Where it logs in.
    ///   - authority: The configured authority.
    ///   - path: Another directory than its own.
    ///   - clock: The time that logins go by.
    /// - Returns: The open database.
    /// - Throws: What opening throws.
    func open(
      _ service: LoginService, authority: String? = nil, at path: String? = nil, clock: WallClock? = nil
    ) throws -> Dunlin {
      var configuration = DunlinConfiguration(
        peerName: name, logger: log.logger, failureHandler: { log.failed($0) })
      configuration.webAuthority = service.server.authorityFile
      if let clock {
        configuration.loginTime = LoginTime(now: { clock.now }, wait: { try await clock.wait(until: $0) })
      }
      return try Dunlin(
        path: path ?? self.path,
        identity: .online(appID: "tests", url: service.url, authority: authority, authenticator: delegate),
        configuration: configuration)
    }
  }

  /// Answers questions by a login with a token, where it has one, and keeps what it was asked.
  final class TestDelegate: DunlinAuthenticationDelegate {
    enum Question: Hashable { case required, expiringSoon }

    private let state: Mutex<State>
    private let asked = Events<Question>()
    private let told = Events<Bool>()

    private struct State {
      var token: String?
      var questions: [Question] = []
    }

    init(token: String?) { state = Mutex(State(token: token)) }

    /// What it logs in with; `nil` is not at all.
    var token: String? {
      get { state.withLock { $0.token } }
      set { state.withLock { $0.token = newValue } }
    }

    var questions: [Question] { state.withLock { $0.questions } }

    /// Waits until it has been asked so many times more, and has answered.
    @discardableResult
    func next(_ count: Int = 1) async -> [Question] { await asked.next(count) }

    /// Waits until it has been told of a status, and returns whether somebody was logged in.
    func nextStatus() async -> Bool? { await told.next(1).first }

    private func answer(_ question: Question, _ authenticator: DunlinAuthenticator) async {
      let token = state.withLock { state in
        state.questions.append(question)
        return state.token
      }
      if let token { _ = try? await authenticator.login(token: token, provider: "tests") }
      asked.send(question)
    }

    func authenticationRequired(authenticator: DunlinAuthenticator) async {
      await answer(.required, authenticator)
    }

    func authenticationExpiringSoon(authenticator: DunlinAuthenticator, secondsRemaining: Int64) async {
      await answer(.expiringSoon, authenticator)
    }

    func authenticationStatusDidChange(authenticator: DunlinAuthenticator) {
      told.send(authenticator.status.isAuthenticated)
    }
  }

  extension Dunlin {
    /// Waits until somebody is logged in, or nobody is.
    func wait(untilAuthenticated isAuthenticated: Bool = true) async throws {
      for await status in try #require(auth).statuses where status.isAuthenticated == isAuthenticated {
        return
      }
    }

    /// Listens on a free port and has `other` connect to it, with sync started at both.
    func connect(to other: Dunlin) throws {
      if other.listeningPorts.isEmpty { try other.listen() }
      try other.startSync()
      connect(host: "127.0.0.1", port: try #require(other.listeningPorts.first))
      try startSync()
    }

    /// Waits until the users of the connected peers are these.
    func wait(forUsers users: [String]) async {
      for await graph in presence.graphs where graph.remotePeers.compactMap(\.user).sorted() == users {
        return
      }
    }

    /// Waits until a collection has so many documents.
    func wait(for collection: String, count: Int) async throws {
      for await diff in try store.changes(of: "SELECT * FROM \(collection)") where diff.items.count == count {
        return
      }
    }
  }
#endif
