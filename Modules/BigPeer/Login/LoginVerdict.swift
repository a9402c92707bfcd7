#if Server
  package import CRDTCore
  package import Links
  import ScopePolicy
  import SyncProtocol

  /// The result of an application's webhook for a token.
  package enum LoginVerdict: Hashable, Sendable {
    /// The token is valid.
    case granted(LoginClaims)
    /// The token is not valid.
    case denied
    /// The token is valid, but the user's permissions cannot be read, or peers cannot enforce them.
    case restricted(why: String)
    /// Any other response: nothing is granted.
    case faulty(why: String, retryAfter: Duration?)
  }

  /// What an application's webhook returns about a user whose token is valid.
  package struct LoginClaims: Hashable, Sendable {
    package let userID: String
    package let expirationSeconds: Int64
    /// For the application on the device: any JSON.
    package let clientInfo: Value?
    /// For all peers of the device, inside its certificate.
    package let information: [TextKey: Value]
    /// What the user may do; `nil` for everything.
    package let grant: GrantTexts?

    package init(
      userID: String, expirationSeconds: Int64, clientInfo: Value?, information: [TextKey: Value],
      grant: GrantTexts? = nil
    ) {
      self.userID = userID
      self.expirationSeconds = expirationSeconds
      self.clientInfo = clientInfo
      self.information = information
      self.grant = grant
    }
  }

  extension LoginVerdict {
    /// The maximum size of the webhook's data for the application on the device, in bytes.
    static let clientInfoBytes = 32 << 10
    /// The maximum length of a user's name, in bytes.
    static let userBytes = 128
    /// The most letters of what is wrong with permissions, in the log and in the audit log.
    private static let whyLetters = 512
    /// The longest validity that a webhook may request, in seconds; a longer one counts as a mistake.
    static let longestExpiration: Int64 = 366 * 86_400

    /// Reads the body of a response with status 200; every field must be known and of the right type.
    package init(json body: [UInt8]) {
      do throws(Mistake) {
        self = try Self.read(body)
      } catch {
        self = .faulty(why: error.why, retryAfter: nil)
      }
    }

    private struct Mistake: Error {
      let why: String
      init(_ why: String) { self.why = why }
    }

    private static func read(_ body: [UInt8]) throws(Mistake) -> LoginVerdict {
      let value: Value
      do {
        value = try JSON.parse(body)
      } catch {
        throw Mistake("it is no JSON: \(error.message)")
      }
      guard case .map(let fields) = value else { throw Mistake("it is no JSON object") }
      try expect(
        fields, "it",
        [
          "authenticated", "userID", "expirationSeconds", "permissions", "claims", "clientInfo",
          "identityServiceMetadata",
        ])
      guard case .bool(let isAuthenticated)? = fields["authenticated"] else {
        throw Mistake("\"authenticated\" is not true or false")
      }
      let userID = try userID(fields["userID"])
      let seconds = try expirationSeconds(fields["expirationSeconds"])
      let isRestricted = try isRestricted(fields["permissions"])
      let claims = try claims(fields["claims"])
      let information = try information(fields["identityServiceMetadata"])
      let clientInfo = fields["clientInfo"].flatMap { $0 == .null ? nil : $0 }
      if let clientInfo {
        let count = JSON.text(of: clientInfo).utf8.count
        guard count <= clientInfoBytes else {
          throw Mistake("\"clientInfo\" has \(count) bytes, of at most \(clientInfoBytes)")
        }
      }
      guard isAuthenticated else { return .denied }
      guard let userID else { throw Mistake("\"userID\" is missing") }
      guard let seconds else { throw Mistake("\"expirationSeconds\" is missing") }
      guard fields["permissions"] != nil else {
        throw Mistake("\"permissions\" is missing: say that reading and writing may do everything")
      }
      let grant: GrantTexts?
      do throws(RulesError) {
        grant = isRestricted ? try Self.grant(fields["permissions"] ?? .null, claims, user: userID) : nil
      } catch {
        // It may have names and queries of the answer, of any length.
        let why = PlainText.of(String(error.message.prefix(whyLetters)))
        return .restricted(why: "the permissions cannot be granted: \(why)")
      }
      return .granted(
        LoginClaims(
          userID: userID, expirationSeconds: seconds, clientInfo: clientInfo, information: information,
          grant: grant))
    }

    private static func expect(_ fields: [TextKey: Value], _ what: String, _ known: Set<TextKey>)
      throws(Mistake)
    {
      guard let unknown = fields.keys.filter({ !known.contains($0) }).min() else { return }
      throw Mistake("\(what) has the unknown field \"\(PlainText.of(String(unknown.text.prefix(64))))\"")
    }

    private static func userID(_ value: Value?) throws(Mistake) -> String? {
      guard let value else { return nil }
      guard case .string(let text) = value, 1...userBytes ~= text.utf8.count,
        PlainText.isVisible(text)
      else {
        throw Mistake(
          "\"userID\" is no text of 1 to \(userBytes) bytes without control and invisible characters")
      }
      return text
    }

    private static func expirationSeconds(_ value: Value?) throws(Mistake) -> Int64? {
      guard let value else { return nil }
      let shortest = Int64(BigPeerConfiguration.Login.shortestValidity)
      guard case .int(let seconds) = value, shortest...longestExpiration ~= seconds else {
        throw Mistake(
          "\"expirationSeconds\" is no whole number from \(shortest) to \(longestExpiration)")
      }
      return seconds
    }

    private static func information(_ value: Value?) throws(Mistake) -> [TextKey: Value] {
      switch value {
      case nil, .null?: return [:]
      case .map(let fields)?:
        guard PeerInformation.fits(fields) else {
          throw Mistake(
            "\"identityServiceMetadata\" has more than \(PeerInformation.byteLimit) bytes as JSON")
        }
        return fields
      default: throw Mistake("\"identityServiceMetadata\" is no object")
      }
    }

    // MARK: - Permissions

    /// The claims of a user, which rules read.
    private static func claims(_ value: Value?) throws(Mistake) -> Claims {
      switch value {
      case nil, .null?: return .none
      case .map(let fields)?:
        do {
          return try Claims(fields)
        } catch {
          throw Mistake("\"claims\" are wrong: \(PlainText.of(error.message))")
        }
      default: throw Mistake("\"claims\" is no object")
      }
    }

    /// The grant with a user's permissions, which peers can enforce.
    private static func grant(
      _ permissions: Value, _ claims: Claims, user: String
    ) throws(RulesError) -> GrantTexts {
      let rules = try AccessRules(permissions)
      let hash = TextDigest.sha256(of: rules.canonical)
      let grant = try Grant(rules: Grant.RulesReference(name: "permissions", sha256: hash), claims: claims)
      _ = try PeerAccess(grant, rules, user: user)
      do {
        return try GrantTexts(checking: grant.canonical, rules: rules.canonical)
      } catch {
        throw RulesError(.limit, error.message)
      }
    }

    /// Whether a user's permissions are other ones than everything.
    private static func isRestricted(_ value: Value?) throws(Mistake) -> Bool {
      guard let value else { return false }
      guard case .map(let fields) = value else { throw Mistake("\"permissions\" is no object") }
      try expect(fields, "\"permissions\"", ["read", "write"])
      var isRestricted = false
      for name: TextKey in ["read", "write"] {
        guard case .map(let permission)? = fields[name] else {
          throw Mistake("\"permissions.\(name)\" is missing, or no object")
        }
        try expect(permission, "\"permissions.\(name)\"", ["everything", "queriesByCollection"])
        guard case .bool(let isEverything)? = permission["everything"] else {
          throw Mistake("\"permissions.\(name).everything\" is not true or false")
        }
        let queries: [TextKey: Value]
        switch permission["queriesByCollection"] {
        case nil: queries = [:]
        case .map(let fields)?: queries = fields
        default: throw Mistake("\"permissions.\(name).queriesByCollection\" is no object")
        }
        if !isEverything || !queries.isEmpty { isRestricted = true }
      }
      return isRestricted
    }
  }
#endif
