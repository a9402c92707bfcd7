#if Server
  package import CRDTCore
  package import DunlinFeed
  import Facade
  import QueryEngine

  /// The target of deliveries, and which changes it gets.
  package struct Webhook: Hashable, Sendable {
    package let id: String
    package let url: String
    /// The queries, as they were written.
    package let statements: [String]
    package let arguments: [TextKey: Value]
    /// The key that signs deliveries.
    package let secret: String
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
      try WebhookAddress(url, allowsPlain: settings.allowsPrivateAddresses)
        .check(allowsPrivateAddresses: settings.allowsPrivateAddresses)
      _ = try FeedFilter(dql: statements, arguments: arguments)
      if let secret {
        guard Self.secretBytes.contains(secret.utf8.count),
          secret.utf8.allSatisfy({ (0x21..<0x7F).contains($0) })
        else {
          throw DunlinError(
            .argument,
            "the webhook's secret must be \(Self.secretBytes.lowerBound) to \(Self.secretBytes.upperBound) printable characters of ASCII"
          )
        }
      }
      var random = SystemRandomNumberGenerator()
      id = "wh_" + (0..<2).map { _ in SiteID(high: random.next(), low: 0).description.prefix(16) }.joined()
      self.url = url
      self.statements = statements
      self.arguments = arguments
      self.secret = secret ?? WebhookSignature.newSecret()
      createdAt = now
    }

    // MARK: - As it is stored

    var encoded: [UInt8] {
      var bytes: [UInt8] = []
      JSON.write(.map(fields.merging(["secret": .string(secret)]) { $1 }), to: &bytes, options: Self.lossless)
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
      statements = fields.strings("statements")
      arguments = fields.members("args") ?? [:]
    }

    /// The fields for clients: all but the secret.
    package var fields: [TextKey: Value] {
      [
        "id": .string(id), "url": .string(url), "statements": .array(statements.map { .string($0) }),
        "args": .map(arguments), "createdAt": .count(createdAt),
      ]
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
