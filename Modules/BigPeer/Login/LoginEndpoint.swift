#if Server
  import CRDTCore
  import Foundation
  package import Links
  package import Logging
  import Synchronization

  /// The login endpoint of an application, which exchanges tokens for certificates.
  ///
  /// `Documentation/Security.md` has the protocol. The endpoint decides and does not listen: requests arrive
  /// as bytes with their source address. After any error no certificate is issued. Mistakes in a request are
  /// reported to the device. Faults of the webhook, the store or the intermediate authority appear only in
  /// the log and the audit log.
  package final class LoginEndpoint: Sendable {
    /// The parts of an endpoint.
    package struct Parts: Sendable {
      package let application: String
      /// The public address for devices, for which they sign.
      package let address: HTTPSAddress
      package let issuer: LoginIssuer
      package let webhook: LoginWebhook
      package let audit: LoginAudit
      package let revocations: Revocations
      package let longestValidity: Duration
      package let limits: BigPeerConfiguration.LoginLimits
      package let clock: LoginClock
      package let logger: Logger

      package init(
        application: String, address: HTTPSAddress, issuer: LoginIssuer, webhook: LoginWebhook,
        audit: LoginAudit, revocations: Revocations, longestValidity: Duration,
        limits: BigPeerConfiguration.LoginLimits, clock: LoginClock = .system, logger: Logger
      ) {
        self.application = application
        self.address = address
        self.issuer = issuer
        self.webhook = webhook
        self.audit = audit
        self.revocations = revocations
        self.longestValidity = longestValidity
        self.limits = limits
        self.clock = clock
        self.logger = logger
      }
    }

    /// The parts that a reload replaces while the endpoint answers.
    package struct Service: Sendable {
      /// The public address for devices, for which they sign.
      let address: HTTPSAddress
      let issuer: LoginIssuer
      let webhook: LoginWebhook
      let longestValidity: Duration

      fileprivate init(_ parts: Parts) {
        (address, issuer, webhook, longestValidity) = (
          parts.address, parts.issuer, parts.webhook, parts.longestValidity
        )
      }

      /// The parts for an application's configuration; `nil` if it has no login endpoint.
      ///
      /// - Throws: What is wrong with an address.
      init?(
        _ configuration: BigPeerConfiguration.Application, _ material: ApplicationMaterial
      ) throws(LoginError) {
        guard let login = configuration.login, let issuer = material.issuer else { return nil }
        self.issuer = issuer
        address = try HTTPSAddress(login.url)
        webhook = LoginWebhook(
          try HTTPSAddress(orLoopback: login.webhook), authorityFile: login.webhookAuthority,
          questions: login.limits.questions, secret: material.webhookSecret)
        longestValidity = login.longestValidity
      }
    }

    /// The maximum size of a request, in bytes.
    package static let requestBytes = 64 << 10

    private let parts: Parts
    private let service: Mutex<Service>
    private let challenges: LoginChallenges
    private let requests: Mutex<RateLimiter<ConnectionOrigin>>
    private let logins: Mutex<RateLimiter<TextKey>>
    /// The number of seconds before the intermediate authority expires at which the log begins to warn.
    private static let warningTime: TimeInterval = 14 * 86_400
    /// Limits the warnings about the intermediate authority's expiry to one a day.
    private let warnings = Mutex(RateLimiter<Int>(atOnce: 1, interval: .seconds(86_400)))
    private let records: LoginRecords

    package init(_ parts: Parts) {
      self.parts = parts
      service = Mutex(Service(parts))
      challenges = LoginChallenges(application: parts.application)
      records = LoginRecords(parts.audit, parts.clock, parts.logger)
      requests = Mutex(
        RateLimiter(
          atOnce: parts.limits.requestsByAddress, perSecond: parts.limits.requestsPerSecondByAddress))
      logins = Mutex(
        RateLimiter(
          atOnce: parts.limits.loginsByUser, interval: .seconds(3_600) / parts.limits.loginsPerHourByUser))
    }

    /// The public address for devices.
    package var address: HTTPSAddress { service.withLock { $0.address } }

    /// The intermediate authority that issues certificates now.
    package var issuer: LoginIssuer { service.withLock { $0.issuer } }

    /// The number of requests by outcome.
    package var figures: [LoginOutcome: UInt64] { records.figures }

    /// Answers with another webhook, intermediate authority and address from now on.
    func renew(_ next: Service) { service.withLock { $0 = next } }

    // MARK: - The first request

    /// Responds to a request for a challenge.
    ///
    /// - Parameters:
    ///   - body: The request's body.
    ///   - origin: The source address of the request, for limits and the audit log.
    /// - Returns: The response.
    package func challenge(_ body: [UInt8], from origin: LoginOrigin) async -> LoginAnswer {
      if let answer = await flood(origin) { return answer }
      guard body.count <= Self.requestBytes, case .map(let fields)? = try? JSON.parse(body) else {
        return malformed("a request for a challenge is a JSON object")
      }
      guard fields["version"] == .int(1) else { return malformed("a login has the version 1") }
      guard case .string(let application)? = fields["application"],
        application.isSame(as: parts.application)
      else { return malformed("this login service is for another application") }
      guard case .string(let text)? = fields["deviceKey"], let key = try? PeerKey(hexadecimal: text) else {
        return malformed("\"deviceKey\" is no public key of P-256 in 66 hexadecimal digits")
      }
      return LoginAnswer(
        200, ["challenge": .string(challenges.make(for: key, at: parts.clock.moment()))])
    }

    // MARK: - The second request

    /// Responds to a login.
    ///
    /// - Parameters:
    ///   - body: The request's body.
    ///   - origin: The source address of the request, for limits and the audit log.
    /// - Returns: The response.
    package func login(_ body: [UInt8], from origin: LoginOrigin) async -> LoginAnswer {
      if let answer = await flood(origin) { return answer }
      let request: LoginRequest
      do throws(LoginError) {
        guard body.count <= Self.requestBytes else {
          throw LoginError(.argument, "A login has at most \(Self.requestBytes) bytes")
        }
        request = try LoginRequest(json: body)
      } catch {
        return malformed(error.message)
      }
      do throws(LoginRefusal) {
        try checkProof(request)
      } catch {
        return await refuse(request, error, origin, isProven: false)
      }
      do throws(LoginRefusal) {
        try checkRevocation(request.deviceKey)
        let claims = try await claims(request)
        return try await issue(claims, request, origin)
      } catch {
        return await refuse(request, error, origin, isProven: true)
      }
    }

    /// Checks that the device has the key for which it requests a certificate.
    ///
    /// The device must have proved that just now and to this endpoint.
    private func checkProof(_ request: LoginRequest) throws(LoginRefusal) {
      guard request.application.isSame(as: parts.application) else {
        throw .wrong(.malformed, 400, "this login service is for another application")
      }
      switch challenges.take(request.challenge, for: request.deviceKey, at: parts.clock.moment()) {
      case .good: break
      case .outOfDate: throw .wrong(.proof, 409, "the challenge is out of date")
      // As after a restart: the device requests another challenge.
      case .unknown: throw .wrong(.proof, 409, "the challenge was not made here for this device key")
      case .used: throw .wrong(.proof, 409, "the challenge was answered before")
      case .full: throw .fault("more than \(LoginChallenges.answers) challenges are answered within a minute")
      }
      guard request.isSigned(for: address) else {
        throw .wrong(.proof, 403, "the login is not signed by its device key for \(address)")
      }
    }

    private func checkRevocation(_ key: PeerKey, user: String? = nil) throws(LoginRefusal) {
      guard parts.revocations.contains(key) else { return }
      var refusal = LoginRefusal.wrong(.revoked, 403, "this device's key is revoked")
      refusal.user = user
      throw refusal
    }

    /// Asks the webhook who the user is.
    private func claims(_ request: LoginRequest) async throws(LoginRefusal) -> LoginClaims {
      let webhook = service.withLock { $0.webhook }
      switch await webhook.ask(about: request, of: parts.application) {
      case .granted(let claims): return claims
      case .denied: throw .wrong(.token, 401, "the token is refused")
      case .restricted(let why):
        throw LoginRefusal(
          outcome: .permissions, status: 403, message: "these permissions cannot be granted yet",
          why: why, level: .warning)
      case .faulty(let why, let wait): throw .fault(why, retryAfter: wait)
      }
    }

    private func issue(_ claims: LoginClaims, _ request: LoginRequest, _ origin: LoginOrigin)
      async throws(LoginRefusal)
      -> LoginAnswer
    {
      let user = claims.userID
      if let wait = take(TextKey(user), logins) {
        var refusal = LoginRefusal.wrong(.user, 429, "too many logins of one user")
        (refusal.retryAfter, refusal.user) = (wait, user)
        throw refusal
      }
      try checkRevocation(request.deviceKey, user: user)
      let now = parts.clock.now()
      let service = service.withLock { $0 }
      let seconds = min(TimeInterval(claims.expirationSeconds), service.longestValidity / .seconds(1))
      let fields: [TextKey: Value]
      var event = event(.issued, request, origin, at: now)
      let issuer = service.issuer
      do {
        let certificate = try issuer.issue(
          to: request.deviceKey, user: user, seconds: seconds, information: claims.information,
          grant: claims.grant, now: now, after: parts.revocations.cutoff(ofUser: user))
        event.user = user
        event.serialNumber = certificate.serialNumber
        event.validUntil = certificate.validUntil
        fields = [
          "certificate": .string(try certificate.pem), "authority": .string(try issuer.trusted.pem),
          "clientInfo": claims.clientInfo ?? .null,
        ].filter { $0.value != .null }
      } catch {
        throw .fault(error.message, user: user)
      }
      do {
        try await parts.audit.add(event)
      } catch {
        throw .fault("the audit log cannot be written: \(error)", user: user)
      }
      // The key may have been revoked meanwhile.
      try checkRevocation(request.deviceKey, user: user)
      records.issued(event)
      warnOfEnd(issuer.validUntil, at: now)
      return LoginAnswer(200, fields)
    }

    private func warnOfEnd(_ end: Date, at now: Date) {
      guard end.timeIntervalSince(now) < Self.warningTime, take(0, warnings) == nil
      else { return }
      parts.logger.warning(
        "The intermediate authority ends at \(end.timeText), and with it all certificates that it has issued: make another one"
      )
    }

    private func take<Name: Sendable>(_ name: Name, _ rates: borrowing Mutex<RateLimiter<Name>>) -> Duration?
    {
      rates.withLock { $0.take(name, at: parts.clock.moment()) }
    }

    // MARK: - Refusals

    /// Refuses an address that sends too many requests.
    private func flood(_ origin: LoginOrigin) async -> LoginAnswer? {
      guard let wait = take(origin.group, requests) else { return nil }
      await records.flood(origin)
      return .refusal(429, "too many requests from one address", retryAfter: wait)
    }

    /// Refuses an invalid request; it contains nothing that an audit log could record.
    private func malformed(_ message: String) -> LoginAnswer {
      records.count(.malformed)
      return .refusal(400, message)
    }

    private func refuse(
      _ request: LoginRequest, _ refusal: LoginRefusal, _ origin: LoginOrigin, isProven: Bool
    ) async -> LoginAnswer {
      await records.refused(
        refusal, event(.refused, request, origin, at: parts.clock.now()), isProven: isProven)
      return refusal.answer
    }

    private func event(_ kind: LoginEvent.Kind, _ request: LoginRequest, _ origin: LoginOrigin, at time: Date)
      -> LoginEvent
    {
      var event = LoginEvent(kind, at: time)
      event.deviceKey = "\(request.deviceKey)"
      event.provider = PlainText.of(request.provider)
      event.source = PlainText.of(origin.text)
      return event
    }
  }
#endif
