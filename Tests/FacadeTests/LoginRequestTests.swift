#if TLS
  import DunlinKit
  import Facade
  import Foundation
  import LoginKit
  import TestKit
  import Testing

  /// A login service that is written with what the library has for that.
  @Suite(.timeLimit(.minutes(15))) struct LoginRequestTests {
    private let authority: DunlinAuthority
    private let directory: TemporaryDirectory

    init() throws {
      authority = try DunlinAuthority(
        appID: "tests", validity: Date(timeIntervalSinceNow: -600)..<Date(timeIntervalSinceNow: 7_200))
      directory = try TemporaryDirectory()
    }

    /// A service that answers logins with `body`, and keeps the bytes of the last one.
    private func logIn(
      _ answer: @escaping @Sendable (Data, String) throws -> HTTPSServer.Reply
    ) async throws -> (url: String, reply: DunlinError?, status: DunlinAuthenticationStatus?) {
      let server = try await HTTPSServer { _ in .end }
      let url = "https://localhost:\(server.port)/x"
      server.answer { request in
        guard request.path == "/x/login" else {
          return .json(200, ["challenge": .string("0123456789abcdef")])
        }
        do {
          return try answer(Data(request.body), url)
        } catch {
          return .json(400, ["message": .string("\(error)")])
        }
      }
      var configuration = DunlinConfiguration()
      configuration.webAuthority = server.authorityFile
      let dunlin = try Dunlin(
        path: directory.file("\(UUID())"), identity: .online(appID: "tests", url: url) { _ in },
        configuration: configuration)
      defer { try? dunlin.close() }
      do {
        try await dunlin.auth?.login(token: "a token", provider: "p")
        return (url, nil, dunlin.auth?.status)
      } catch {
        return (url, error as? DunlinError, dunlin.auth?.status)
      }
    }

    @Test func `a request is read, verified and answered`() async throws {
      let validity = Date(timeIntervalSinceNow: -60)..<Date(timeIntervalSinceNow: 600)
      let (_, error, status) = try await logIn { [authority] body, url in
        let request = try DunlinLoginRequest(body: body, url: url)
        guard request.token == "a token", request.provider == "p", request.challenge == "0123456789abcdef",
          request.appID == "tests", request.deviceKey.count == 66
        else { return .json(500, [:]) }
        let answer = try authority.answer(to: request, user: "ann", validity: validity, clientInfo: "[1]")
        return .answer(200, ["Content-Type: application/json"], String(decoding: answer, as: UTF8.self))
      }
      #expect(error == nil)
      #expect(status?.userID == "ann")
    }

    @Test func `a request for another service, and one that was changed, are refused`() async throws {
      for (change, part) in [
        (#""provider":"p""#, #""provider":"q""#), (#""token":"a token""#, #""token":"b token""#), ("", ""),
      ] {
        let (_, error, status) = try await logIn { body, url in
          let text = String(decoding: body, as: UTF8.self)
          let changed = change.isEmpty ? text : text.replacingOccurrences(of: change, with: part)
          _ = try DunlinLoginRequest(
            body: Data(changed.utf8), url: change.isEmpty ? url + "/elsewhere" : url)
          return .json(500, [:])
        }
        expectEqual(error?.code, .identity)
        expectEqual(
          error?.message.contains("not signed by its device key"), true, "\(String(describing: error))")
        expectEqual(status?.isAuthenticated, false)
      }
    }

    @Test func `an authority answers for its own application, and with JSON`() async throws {
      let other = try DunlinAuthority(
        appID: "others", validity: Date(timeIntervalSinceNow: -600)..<Date(timeIntervalSinceNow: 7_200))
      let validity = Date(timeIntervalSinceNow: -60)..<Date(timeIntervalSinceNow: 600)
      let (_, error, _) = try await logIn { [authority] body, url in
        let request = try DunlinLoginRequest(body: body, url: url)
        #expect(throws: DunlinError.self) { try other.answer(to: request, user: nil, validity: validity) }
        let wrong = #expect(throws: DunlinError.self) {
          try authority.answer(to: request, user: nil, validity: validity, clientInfo: "{")
        }
        #expect(wrong?.code == .argument)
        return .json(500, [:])
      }
      #expect(error?.code == .unavailable)
    }

    @Test(arguments: ["", "[]", "{}", #"{"version":2}"#, #"{"version":1,"application":5}"#])
    func `what is no login is refused`(_ text: String) {
      let error = #expect(throws: DunlinError.self) {
        try DunlinLoginRequest(body: Data(text.utf8), url: "https://a")
      }
      #expect(error?.code == .argument)
    }
  }
#endif
