#if Server
  package import CRDTCore
  package import DunlinFeed
  import Facade
  import QueryEngine

  /// The target of deliveries, and which changes it gets.
  package struct Webhook: Hashable, Sendable {
    package let id: String
    package private(set) var url: String
    /// The queries, as they were written.
    package let statements: [String]
    package let arguments: [TextKey: Value]
    /// The key that signs deliveries.
    package private(set) var secret: String
    /// The key before that, which signs deliveries too for some time.
    package private(set) var former: FormerSecret?

    /// A secret that a webhook had before.
    package struct FormerSecret: Hashable, Sendable {
      package let text: String
      /// Until when it signs deliveries, in milliseconds since 1970.
      package let ends: UInt64
    }

    /// In milliseconds since 1970.
    package let createdAt: UInt64

    /// The allowed length of a secret, in bytes.
    static let secretBytes = 16...256
    /// The maximum size of the stored webhook, in bytes.
    static let byteLimit = 512 << 10

    /// Makes a new webhook.
    ///
    /// - Throws: `argument`, `limit`; the codes of queries.
    init(
      url: String, statements: [String], arguments: [TextKey: Value], secret: String?, now: UInt64,
      _ settings: FeedSettings
    ) throws {
      try Self.check(url: url, settings)
      _ = try FeedFilter(dql: statements, arguments: arguments)
      if let secret { try Self.check(secret: secret) }
      var random = SystemRandomNumberGenerator()
      id = "wh_" + (0..<2).map { _ in SiteID(high: random.next(), low: 0).description.prefix(16) }.joined()
      self.url = url
      self.statements = statements
      self.arguments = arguments
      self.secret = secret ?? WebhookSignature.newSecret()
      createdAt = now
    }

    private static func check(url: String, _ settings: FeedSettings) throws {
      try WebhookAddress(url, allowsPlain: settings.allowsPrivateAddresses)
        .check(allowsPrivateAddresses: settings.allowsPrivateAddresses)
    }

    private static func check(secret: String) throws {
      guard secretBytes.contains(secret.utf8.count), secret.utf8.allSatisfy({ (0x21..<0x7F).contains($0) })
      else {
        throw DunlinError(
          .argument,
          "the webhook's secret must be \(secretBytes.lowerBound) to \(secretBytes.upperBound) printable characters of ASCII"
        )
      }
    }

    /// The webhook with another address and another secret.
    ///
    /// - Parameters:
    ///   - change: What is another one.
    ///   - now: Milliseconds since 1970.
    ///   - settings: The limits of the change feed.
    /// - Returns: The webhook; its position stays.
    /// - Throws: `argument`, `limit`; `conflict` when it has two secrets already, and one of them would end
    ///   before its time.
    func changed(by change: Webhooks.Change, now: UInt64, _ settings: FeedSettings) throws -> Webhook {
      var changed = self
      if let url = change.url {
        try Self.check(url: url, settings)
        changed.url = url
      }
      if let secret = change.secret, !(secret.utf8.elementsEqual(self.secret.utf8)) {
        try Self.check(secret: secret)
        if let former, former.ends > now, change.overlap > 0 {
          throw DunlinError(
            .conflict,
            "the webhook has two secrets already, and keeps no third: wait for the end of the older one, or end both at once with overlapSeconds 0"
          )
        }
        changed.secret = secret
        changed.former =
          change.overlap > 0 ? FormerSecret(text: self.secret, ends: now + change.overlap) : nil
      }
      guard changed.encoded.count <= Self.byteLimit else {
        throw DunlinError(.limit, "a webhook takes at most \(Self.byteLimit) bytes with its queries")
      }
      return changed
    }

    /// The secrets that sign a delivery at a time, in milliseconds since 1970; the present one is first.
    func secrets(at now: UInt64) -> [String] {
      guard let former, former.ends > now else { return [secret] }
      return [secret, former.text]
    }

    // MARK: - As it is stored

    var encoded: [UInt8] {
      var bytes: [UInt8] = []
      var fields = fields
      fields["secret"] = .string(secret)
      if let former { fields["formerSecret"] = .string(former.text) }
      JSON.write(.map(fields), to: &bytes, options: Self.lossless)
      return bytes
    }

    private static let lossless = JSON.WriteOptions(isLossless: true)

    /// Reads a stored webhook; `nil` for a format of a later release.
    init?(_ stored: [UInt8]) {
      guard case .map(let fields)? = try? JSON.parse(stored, options: .init(interpretsTags: true)),
        let id = fields.string("id"), let url = fields.string("url"), let secret = fields.string("secret"),
        let createdAt = fields.integer("createdAt")
      else { return nil }
      self.id = id
      self.url = url
      self.secret = secret
      self.createdAt = UInt64(clamping: createdAt)
      if let text = fields.string("formerSecret"), let ends = fields.integer("formerSecretEnds") {
        former = FormerSecret(text: text, ends: UInt64(clamping: ends))
      }
      statements = fields.strings("statements")
      arguments = fields.members("args") ?? [:]
    }

    /// The fields for clients: all but the secrets.
    package var fields: [TextKey: Value] {
      var fields: [TextKey: Value] = [
        "id": .string(id), "url": .string(url), "statements": .array(statements.map { .string($0) }),
        "args": .map(arguments), "createdAt": .count(createdAt),
      ]
      if let former { fields["formerSecretEnds"] = .count(former.ends) }
      return fields
    }
  }

  /// The progress of a webhook.
  package struct WebhookProgress: Hashable, Sendable {
    /// The position after the last delivery that was acknowledged.
    package var position: FeedPosition
    /// The number of deliveries that were acknowledged.
    package var deliveries: UInt64 = 0
    /// The time of the last acknowledged delivery, in milliseconds since 1970.
    package var deliveredAt: UInt64?
    /// The number of attempts that have failed since then.
    package var failures: UInt64 = 0
    /// The time of the first failure since then.
    package var failingSince: UInt64?
    /// The error of the last failure.
    package var lastFailure: String?
    /// Why nothing is delivered; `nil` if the webhook is not paused.
    package var pause: Pause?

    /// Why a webhook is paused.
    package enum Pause: String, Sendable {
      /// A client requested it.
      case requested
      /// The webhook has failed for too long.
      case failing
      /// The receiver has refused further deliveries.
      case gone
      /// The store is a restored copy; this is reported, and never stored.
      case restored
    }

    package enum State: String, Sendable {
      case active, retrying, paused
    }

    package var state: State { pause != nil ? .paused : failures > 0 ? .retrying : .active }

    init(position: FeedPosition) { self.position = position }

    /// The progress as it is reported, if deliveries are held because the store may be a copy.
    func shown(isHeld: Bool) -> WebhookProgress {
      guard isHeld else { return self }
      var shown = self
      shown.pause = .restored
      return shown
    }

    /// The fields that are reported and stored.
    package var fields: [TextKey: Value] {
      var fields: [TextKey: Value] = [
        "state": .string(state.rawValue), "position": .string(position.token),
        "deliveries": .count(deliveries), "failures": .count(failures),
      ]
      if let deliveredAt { fields["deliveredAt"] = .count(deliveredAt) }
      if let failingSince { fields["failingSince"] = .count(failingSince) }
      if let lastFailure { fields["lastFailure"] = .string(lastFailure) }
      if let pause { fields["pause"] = .string(pause.rawValue) }
      return fields
    }

    var encoded: [UInt8] {
      var bytes: [UInt8] = []
      JSON.write(.map(fields), to: &bytes)
      return bytes
    }

    init?(_ stored: [UInt8]) {
      guard case .map(let fields)? = try? JSON.parse(stored), let token = fields.string("position"),
        let position = try? FeedPosition(token: token)
      else { return nil }
      self.init(position: position)
      func number(_ name: TextKey) -> UInt64? { fields.integer(name).map { UInt64(clamping: $0) } }
      deliveries = number("deliveries") ?? 0
      failures = number("failures") ?? 0
      deliveredAt = number("deliveredAt")
      failingSince = number("failingSince")
      lastFailure = fields.string("lastFailure")
      pause = fields.string("pause").flatMap(Pause.init)
    }
  }
#endif
