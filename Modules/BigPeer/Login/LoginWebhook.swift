#if Server
  import CRDTCore
  import Foundation
  import HTTPTypes
  package import Links
  import Synchronization

  /// Asks an application whether a token is valid: one address, one request for each login, no redirects.
  package final class LoginWebhook: Sendable {
    private let address: HTTPSAddress
    private let client: HTTPSClient
    private let most: Int
    private let secret: String?
    private let questions = Mutex(0)

    /// - Parameters:
    ///   - address: The address where the application verifies tokens.
    ///   - authorityFile: The authorities for verifying its certificate; `nil` uses the system's.
    ///   - questions: The maximum number of concurrent requests.
    ///   - secret: Signs each request, as the webhooks of the change feed sign deliveries; `nil` leaves them
    ///     unsigned.
    ///   - time: The time limit of a request, from the lookup of the name to the last byte of the response.
    package init(
      _ address: HTTPSAddress, authorityFile: String?, questions: Int, secret: String? = nil,
      time: Duration = BigPeerConfiguration.Login.webhookTime
    ) {
      self.address = address
      most = questions
      self.secret = secret
      var client = HTTPSClient(authorityFile: authorityFile)
      client.limits.connecting = time
      client.limits.answering = time
      client.limits.bodyBytes = BigPeerConfiguration.Login.webhookBytes
      self.client = client
    }

    /// Asks about a token.
    ///
    /// - Parameters:
    ///   - request: The login, whose signature was verified.
    ///   - application: The application's id.
    /// - Returns: The webhook's result; `faulty` if no valid response arrived in time.
    package func ask(about request: LoginRequest, of application: String) async -> LoginVerdict {
      guard begin() else {
        return .faulty(
          why: "\(most) questions are in flight, and no more are asked at the same time",
          retryAfter: .seconds(2))
      }
      defer { questions.withLock { $0 -= 1 } }
      let question = JSON.text(
        of: .map([
          "appID": .string(application), "provider": .string(request.provider),
          "token": .string(request.token), "deviceKey": .string("\(request.deviceKey)"),
        ]))
      let body = Array(question.utf8)
      let signature = secret.map {
        (name: WebhookSignature.header, value: WebhookSignature.value(body, secret: $0, at: Date()))
      }
      let trace = RequestTrace.current?.headers.map { (name: $0.name.rawName, value: $0.value) } ?? []
      let headers = (signature.map { [$0] } ?? []) + trace
      do {
        return verdict(on: try await client.post(body, headers: headers, to: address))
      } catch {
        return .faulty(why: error.message, retryAfter: nil)
      }
    }

    private func begin() -> Bool {
      questions.withLock { count in
        guard count < most else { return false }
        count += 1
        return true
      }
    }

    private func verdict(on answer: HTTPSAnswer) -> LoginVerdict {
      switch answer.status {
      case 200: break
      case 401, 403: return .denied
      default:
        return .faulty(
          why: "\(address) answers with status \(answer.status)", retryAfter: answer.retryAfter)
      }
      guard answer.contentType == "application/json" else {
        let type = answer.contentType.map { "\"\(PlainText.of(String($0.prefix(64))))\"" } ?? "none"
        return .faulty(
          why: "\(address) answers with the content type \(type), and not application/json",
          retryAfter: nil)
      }
      let verdict = LoginVerdict(json: answer.body)
      guard case .faulty(let why, let wait) = verdict else { return verdict }
      return .faulty(why: "\(address) does not answer as a webhook for logins does: \(why)", retryAfter: wait)
    }
  }
#endif
