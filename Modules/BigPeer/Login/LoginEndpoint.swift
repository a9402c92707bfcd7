#if Server
  import CRDTCore
  import Foundation
  package import Logging
  import Synchronization
  package import Transports

  /// The login endpoint of an application: exchanges tokens for certificates, as `Documentation/Security.md` has the protocol.
  ///
  /// It decides and does not listen: requests come as bytes with the address that they are from. Whatever goes wrong, there is no
  /// certificate. What is wrong with a request is said to the device; what is wrong with the webhook, the store or the intermediate
  /// authority is said in the log and the audit log alone.
  package final class LoginEndpoint: Sendable {
    /// What it works with.
    package struct Parts: Sendable {
      package let application: String
      /// What devices are told, which their signatures are for.
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

    /// Bytes that a request may have.
    package static let requestBytes = 64 << 10
    /// How long a device waits where something here or at the webhook has failed.
    private static let pause = Duration.seconds(5)

    private let parts: Parts
    private let challenges: LoginChallenges
    private let requests: Mutex<RateLimiter<ConnectionOrigin>>
    private let logins: Mutex<RateLimiter<TextKey>>
    /// So many seconds before the intermediate authority ends, the log begins to say so.
    private static let warningTime: TimeInterval = 14 * 86_400
    /// One warning a day that the intermediate authority ends.
    private let warnings = Mutex(RateLimiter<Int>(atOnce: 1, interval: .seconds(86_400)))
    /// One line in the log and one audited refusal for each address and minute in which it asks too often.
    private let floods = Mutex(RateLimiter<ConnectionOrigin>(atOnce: 1, interval: .seconds(60)))

    package init(_ parts: Parts) {
      self.parts = parts
      challenges = LoginChallenges(application: parts.application)
      requests = Mutex(
        RateLimiter(
          atOnce: parts.limits.requestsByAddress, perSecond: parts.limits.requestsPerSecondByAddress))
      logins = Mutex(
        RateLimiter(
          atOnce: parts.limits.loginsByUser, interval: .seconds(3_600) / parts.limits.loginsPerHourByUser))
    }

    /// What devices are told.
    package var address: HTTPSAddress { parts.address }

    // MARK: - The first request

    /// Answers the question for a challenge.
    ///
    /// - Parameters:
    ///   - body: The request's body.
    ///   - origin: The address that the request is from, for limits and the audit log.
    /// - Returns: The answer.
    package func challenge(_ body: [UInt8], from origin: LoginOrigin) async -> LoginAnswer {
      if let answer = await flood(origin) { return answer }
      guard body.count <= Self.requestBytes, case .map(let fields)? = try? JSON.parse(body) else {
        return .refusal(400, "a request for a challenge is a JSON object")
      }
      guard fields["version"] == .int(1) else { return .refusal(400, "a login has the version 1") }
      guard case .string(let application)? = fields["application"],
        application.isSame(as: parts.application)
      else { return .refusal(400, "this login service is for another application") }
      guard case .string(let text)? = fields["deviceKey"], let key = try? PeerKey(hexadecimal: text) else {
        return .refusal(400, "\"deviceKey\" is no public key of P-256 in 66 hexadecimal digits")
      }
      return LoginAnswer(
        200, ["challenge": .string(challenges.make(for: key, at: parts.clock.moment()))])
    }

    // MARK: - The second request

    /// Answers a login.
    ///
    /// - Parameters:
    ///   - body: The request's body.
    ///   - origin: The address that the request is from, for limits and the audit log.
    /// - Returns: The answer.
    package func login(_ body: [UInt8], from origin: LoginOrigin) async -> LoginAnswer {
      if let answer = await flood(origin) { return answer }
      let request: LoginRequest
      do throws(LoginError) {
        guard body.count <= Self.requestBytes else {
          throw LoginError(.argument, "A login has at most \(Self.requestBytes) bytes")
        }
        request = try LoginRequest(json: body)
      } catch {
        return .refusal(400, error.message)
      }
      do throws(Refusal) {
        try checkProof(request)
        let claims = try await claims(request)
        return try await issue(claims, request, origin)
      } catch {
        return await refuse(request, error, origin)
      }
    }

    /// Why a login is refused.
    private struct Refusal: Error {
      let status: Int
      /// For the device.
      let message: String
      /// For the log and the audit log.
      let why: String
      var level = Logger.Level.info
      var retryAfter: Duration?
      var user: String?

      /// What is wrong with the request.
      static func wrong(_ status: Int, _ message: String) -> Refusal {
        Refusal(status: status, message: message, why: message)
      }

      /// What is wrong here, which is none of the device's business.
      static func fault(_ why: String, retryAfter: Duration? = nil, user: String? = nil) -> Refusal {
        Refusal(
          status: 503, message: "the login service cannot answer now", why: why, level: .warning,
          retryAfter: retryAfter ?? pause, user: user)
      }
    }

    /// Checks that the device has the key for which it asks a certificate, and has said so just now and to this endpoint.
    private func checkProof(_ request: LoginRequest) throws(Refusal) {
      guard request.application.isSame(as: parts.application) else {
        throw .wrong(400, "this login service is for another application")
      }
      switch challenges.take(request.challenge, for: request.deviceKey, at: parts.clock.moment()) {
      case .good: break
      case .outOfDate: throw .wrong(409, "the challenge is out of date")
      // As after a restart: the device asks for another one.
      case .unknown: throw .wrong(409, "the challenge was not made here for this device key")
      case .used: throw .wrong(409, "the challenge was answered before")
      case .full: throw .fault("more than \(LoginChallenges.answers) challenges are answered within a minute")
      }
      guard request.isSigned(for: parts.address) else {
        throw .wrong(403, "the login is not signed by its device key for \(parts.address)")
      }
      try checkRevocation(request.deviceKey)
    }

    private func checkRevocation(_ key: PeerKey, user: String? = nil) throws(Refusal) {
      guard parts.revocations.contains(key) else { return }
      var refusal = Refusal.wrong(403, "this device's key is revoked")
      refusal.user = user
      throw refusal
    }

    /// Asks the webhook who the user is.
    private func claims(_ request: LoginRequest) async throws(Refusal) -> LoginClaims {
      switch await parts.webhook.ask(about: request, of: parts.application) {
      case .granted(let claims): return claims
      case .denied: throw .wrong(401, "the token is refused")
      case .restricted(let why):
        throw Refusal(
          status: 403, message: "restricted permissions cannot be granted yet", why: why, level: .warning)
      case .faulty(let why, let wait): throw .fault(why, retryAfter: wait)
      }
    }

    private func issue(_ claims: LoginClaims, _ request: LoginRequest, _ origin: LoginOrigin)
      async throws(Refusal)
      -> LoginAnswer
    {
      let user = claims.userID
      if let wait = take(TextKey(user), logins) {
        throw Refusal(
          status: 429, message: "too many logins of one user", why: "too many logins of one user",
          retryAfter: wait, user: user)
      }
      try checkRevocation(request.deviceKey, user: user)
      let now = parts.clock.now()
      let seconds = min(TimeInterval(claims.expirationSeconds), parts.longestValidity / .seconds(1))
      let fields: [TextKey: Value]
      var event = event(.issued, request, origin, at: now)
      do {
        let certificate = try parts.issuer.issue(
          to: request.deviceKey, user: user, seconds: seconds, information: claims.information, now: now)
        event.user = user
        event.serialNumber = certificate.serialNumber
        event.validUntil = certificate.validUntil
        fields = [
          "certificate": .string(try certificate.pem), "authority": .string(try parts.issuer.trusted.pem),
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
      // It may have been revoked meanwhile.
      try checkRevocation(request.deviceKey, user: user)
      parts.logger.info("A certificate was issued", metadata: metadata(event))
      warnOfEnd(at: now)
      return LoginAnswer(200, fields)
    }

    private func warnOfEnd(at now: Date) {
      let end = parts.issuer.validUntil
      guard end.timeIntervalSince(now) < Self.warningTime, take(0, warnings) == nil
      else { return }
      parts.logger.warning(
        "The intermediate authority ends at \(end.formatted(.iso8601)), and with it all certificates that it has issued: make another one"
      )
    }

    private func take<Name>(_ name: Name, _ rates: borrowing Mutex<RateLimiter<Name>>) -> Duration? {
      rates.withLock { $0.take(name, at: parts.clock.moment()) }
    }

    // MARK: - Refusals

    /// Refuses an address that asks too often.
    private func flood(_ origin: LoginOrigin) async -> LoginAnswer? {
      guard let wait = take(origin.group, requests) else { return nil }
      if take(origin.group, floods) == nil {
        var event = LoginEvent(.refused, at: parts.clock.now())
        (event.source, event.reason) = (PlainText.of(origin.text), "too many requests from one address")
        await record(event)
        parts.logger.info("A login was refused", metadata: metadata(event))
      }
      return .refusal(429, "too many requests from one address", retryAfter: wait)
    }

    private func refuse(_ request: LoginRequest, _ refusal: Refusal, _ origin: LoginOrigin) async
      -> LoginAnswer
    {
      var event = event(.refused, request, origin, at: parts.clock.now())
      event.user = refusal.user
      event.reason = refusal.why
      await record(event)
      parts.logger.log(level: refusal.level, "A login was refused", metadata: metadata(event))
      return .refusal(refusal.status, refusal.message, retryAfter: refusal.retryAfter)
    }

    /// A refusal stays one where the audit log cannot be written.
    private func record(_ event: LoginEvent) async {
      do {
        try await parts.audit.add(event)
      } catch {
        parts.logger.error("The audit log of logins cannot be written: \(error)")
      }
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

    private func metadata(_ event: LoginEvent) -> Logger.Metadata {
      var metadata: Logger.Metadata = [:]
      for (name, text) in [
        ("user", event.user), ("device", event.deviceKey), ("provider", event.provider),
        ("source", event.source), ("reason", event.reason), ("serial", event.serialNumber),
      ] {
        if let text { metadata[name] = "\(PlainText.of(text))" }
      }
      if let end = event.validUntil { metadata["until"] = "\(end.formatted(.iso8601))" }
      return metadata
    }
  }
#endif
