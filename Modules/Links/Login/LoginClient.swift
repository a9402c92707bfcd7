#if TLS
  import CRDTCore
  package import Foundation

  /// Exchanges an application's token for a certificate of this device's key, at a login service.
  package struct LoginClient: Sendable {
    package let address: HTTPSAddress
    private let http: HTTPSClient
    private let now: @Sendable () -> Date

    /// Takes the service's address; sends nothing yet.
    ///
    /// - Parameters:
    ///   - address: The service's address.
    ///   - http: The client that sends requests.
    ///   - now: The time, for tests.
    package init(
      _ address: HTTPSAddress, http: HTTPSClient = HTTPSClient(),
      now: @escaping @Sendable () -> Date = { Date() }
    ) {
      self.address = address
      self.http = http
      self.now = now
    }

    /// The device that logs in, and its key.
    package struct Device: Sendable {
      package let application: String
      package let key: DeviceKey
      /// The application's authority if it is known; otherwise the service names it.
      package let authority: TrustedAuthority?
      /// Whether the device is configured as a big peer.
      package let isBigPeer: Bool

      package init(
        application: String, key: DeviceKey, authority: TrustedAuthority?, isBigPeer: Bool = false
      ) {
        self.application = application
        self.key = key
        self.authority = authority
        self.isBigPeer = isBigPeer
      }
    }

    /// Logs in: requests a challenge, and then the certificate.
    ///
    /// - Parameters:
    ///   - device: The device that logs in.
    ///   - provider: The name of the service's way to verify this token.
    ///   - token: The token that proves to the service who the user is.
    /// - Returns: The service's answer, after checks.
    /// - Throws: `LoginError` with any of its codes.
    package func login(_ device: Device, provider: String, token: String) async throws(LoginError)
      -> LoginGrant
    {
      // A challenge may have expired when the answer arrives; a second one has not.
      if let grant = try await attempt(device, provider, token, isLast: false) { return grant }
      guard let grant = try await attempt(device, provider, token, isLast: true) else {
        throw LoginError(.answer, "\(address) does not accept its own challenge")
      }
      return grant
    }

    /// Makes one attempt to log in.
    ///
    /// - Returns: `nil` when the service says that the challenge has expired.
    private func attempt(_ device: Device, _ provider: String, _ token: String, isLast: Bool)
      async throws(LoginError) -> LoginGrant?
    {
      // Invalid arguments of the device are found before anything is sent.
      _ = try LoginRequest(
        application: device.application, provider: provider, token: token, challenge: "", key: device.key,
        address: address)
      let question = JSON.text(
        of: .map([
          "version": .int(LoginRequest.version), "application": .string(device.application),
          "deviceKey": .string("\(device.key.peerKey)"),
        ]))
      let challenge = try await post(Array(question.utf8), to: "challenge")
      let request = try LoginRequest(
        application: device.application, provider: provider, token: token,
        challenge: try self.challenge(in: fields(of: challenge)), key: device.key, address: address)
      let answer = try await post(request.json, to: "login")
      if answer.status == 409, !isLast { return nil }
      return try await grant(in: fields(of: answer), device, answer.date)
    }

    private func post(_ body: [UInt8], to part: String) async throws(LoginError) -> HTTPSAnswer {
      do {
        return try await http.post(body, to: address.part(part))
      } catch {
        throw LoginError(error)
      }
    }

    private func challenge(in fields: [TextKey: Value]) throws(LoginError) -> String {
      guard case .string(let challenge)? = fields["challenge"] else {
        throw wrong("its answer has no text \"challenge\"")
      }
      guard 16...LoginRequest.challengeBytes ~= challenge.utf8.count,
        challenge.utf8.allSatisfy({ (0x21..<0x7F).contains($0) })
      else {
        throw wrong(
          "its challenge is not one of 16 to \(LoginRequest.challengeBytes) printable characters of ASCII")
      }
      return challenge
    }

    private func grant(in fields: [TextKey: Value], _ device: Device, _ date: Date?)
      async throws(LoginError) -> LoginGrant
    {
      guard case .string(let certificate)? = fields["certificate"] else {
        throw wrong("its answer has no text \"certificate\"")
      }
      let authority: String?
      switch fields["authority"] {
      case .string(let text)?: authority = text
      case nil, .null?: authority = nil
      default: throw wrong("the \"authority\" of its answer is no text")
      }
      do throws(LinkError) {
        var grant = try await LoginGrant(
          checking: certificate, authority: authority, for: device,
          clock: LoginGrant.Clock(now: now, service: date))
        grant.clientInfo = fields["clientInfo"].map { JSON.text(of: $0) }
        return grant
      } catch {
        throw LoginError(.certificate, "\(address) gives a certificate that is not right: \(error.message)")
      }
    }

    // MARK: - Answers

    /// The fields of a successful answer.
    private func fields(of answer: HTTPSAnswer) throws(LoginError) -> [TextKey: Value] {
      guard answer.status == 200 else { throw refusal(answer) }
      guard answer.contentType == "application/json" else {
        throw wrong(
          "its answer is \(answer.contentType.map { "of the type \(Self.quoted($0))" } ?? "of no type"), and not application/json"
        )
      }
      guard let fields = JSON.object(answer.body) else { throw wrong("its answer is no JSON object") }
      return fields
    }

    /// The error that an unsuccessful answer means.
    private func refusal(_ answer: HTTPSAnswer) -> LoginError {
      var reason = ""
      if answer.contentType == "application/json",
        case .string(let text)? = JSON.object(answer.body)?["message"]
      {
        reason = ": \(Self.quoted(text))"
      }
      let (status, wait) = (answer.status, answer.retryAfter)
      switch status {
      case 401, 403: return LoginError(.refused, "\(address) refuses the token (status \(status))\(reason)")
      case 300..<400:
        let place = answer.location.map { " to \(Self.quoted($0))" } ?? ""
        return wrong("it redirects\(place) (status \(status)), and redirects are not followed")
      case 408, 429, 500..<600:
        let wish = wait.map { "; it asks to wait \($0.text)" } ?? ""
        return LoginError(
          .unavailable, "\(address) cannot answer now (status \(status))\(reason)\(wish)", retryAfter: wait)
      default: return wrong("it answers with status \(status)\(reason)")
      }
    }

    private func wrong(_ why: String) -> LoginError {
      LoginError(.answer, "\(address) does not answer as a login service does: \(why)")
    }

    /// A text from another party, cut to a length.
    private static func quoted(_ text: String) -> String {
      "\"\(PlainText.of(String(text.prefix(200))))\""
    }
  }
#endif
