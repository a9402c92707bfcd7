#if TLS
  package import CRDTCore
  package import Foundation
  package import Links
  import Synchronization

  /// A login service: a real one, over HTTPS, that issues certificates with an application's authority.
  package final class LoginService: Sendable {
    /// What a test may change while the service runs.
    package struct Rules: Sendable {
      /// The user that each token stands for.
      package var users: [String: String] = ["ann's token": "ann", "bob's token": "bob"]
      package var providers: Set<String> = ["tests", "playground"]
      /// For how long a certificate holds that is issued at a time.
      package var validity: @Sendable (Date) -> Range<Date> = { $0 - 60..<$0 + 3_600 }
      /// The time.
      package var now: @Sendable () -> Date = { Date() }
      /// What certificates say of their peers to all others.
      package var information: [TextKey: Value] = [:]
      /// Whether the service names its authority.
      package var namesAuthority = true
      /// Whether the head of its answers has the time.
      package var saysDate = false
      /// Answers in its place, where it returns an answer.
      package var instead: @Sendable (HTTPSServer.Request) -> HTTPSServer.Reply? = { _ in nil }
    }

    package let server: HTTPSServer
    package let authority: PeerAuthority
    private let responder: Responder

    /// Begins to listen.
    package init(_ authority: PeerAuthority? = nil, change: (inout Rules) -> Void = { _ in }) async throws {
      let authority =
        try authority
        ?? PeerAuthority(
          application: "tests",
          validity: Date(timeIntervalSince1970: 0)..<Date(timeIntervalSince1970: 4_000_000_000))
      let responder = Responder(authority)
      self.authority = authority
      self.responder = responder
      responder.state.withLock { change(&$0.rules) }
      server = try await HTTPSServer { responder.answer($0) }
      responder.state.withLock { [port = server.port] in $0.port = port }
    }

    /// What devices are told.
    package var url: String { "https://localhost:\(server.port)/tests" }

    /// Changes what the service does.
    package func change(_ change: @Sendable (inout Rules) -> Void) {
      responder.state.withLock { change(&$0.rules) }
    }

    /// What was issued, the oldest first.
    package var issued: [PeerCertificate] { responder.state.withLock { $0.issued } }

    /// The service's own part.
    private final class Responder: Sendable {
      struct State {
        var rules = Rules()
        var port = 0
        var challenges: Set<String> = []
        var issued: [PeerCertificate] = []
      }

      let authority: PeerAuthority
      let state = Mutex(State())

      init(_ authority: PeerAuthority) { self.authority = authority }

      func answer(_ request: HTTPSServer.Request) -> HTTPSServer.Reply {
        let rules = state.withLock { $0.rules }
        if let reply = rules.instead(request) { return reply }
        switch request.path {
        case "/tests/challenge": return challenge()
        case "/tests/login": return login(request, rules)
        default: return .json(404, ["message": .string("there is nothing")])
        }
      }

      /// A time as HTTP writes it.
      private static func text(_ date: Date) -> String {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = .gmt
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return formatter.string(from: date)
      }

      private func challenge() -> HTTPSServer.Reply {
        let challenge = "\(UUID())"
        state.withLock { _ = $0.challenges.insert(challenge) }
        return .json(200, ["challenge": .string(challenge)])
      }

      private func login(_ request: HTTPSServer.Request, _ rules: Rules) -> HTTPSServer.Reply {
        do {
          let login = try LoginRequest(json: request.body)
          let (isKnown, port) = state.withLock { ($0.challenges.remove(login.challenge) != nil, $0.port) }
          guard isKnown else { return .json(409, ["message": .string("the challenge is out of date")]) }
          guard login.isSigned(for: try HTTPSAddress("https://localhost:\(port)/tests")) else {
            return .json(403, ["message": .string("the signature is wrong")])
          }
          guard rules.providers.contains(login.provider), let user = rules.users[login.token] else {
            return .json(401, ["message": .string("the token is unknown")])
          }
          let certificate = try authority.issue(
            for: login.deviceKey, user: user, validity: rules.validity(rules.now()), proof: .online,
            information: rules.information)
          state.withLock { $0.issued.append(certificate) }
          var fields: [TextKey: Value] = [
            "certificate": .string(try certificate.pem),
            "clientInfo": .map(["greeting": .string("hello \(user)")]),
          ]
          if rules.namesAuthority { fields["authority"] = .string(try authority.trusted.pem) }
          return .json(200, fields, rules.saysDate ? ["Date: \(Self.text(rules.now()))"] : [])
        } catch {
          return .json(400, ["message": .string("\(error)")])
        }
      }
    }
  }

  extension HTTPSServer.Reply {
    /// An answer in JSON.
    package static func json(_ status: Int, _ fields: [TextKey: Value], _ lines: [String] = [])
      -> HTTPSServer.Reply
    {
      .answer(status, ["Content-Type: application/json"] + lines, JSON.text(of: .map(fields)))
    }
  }
#endif
