#if Server
  package import CRDTCore
  package import Foundation

  /// One entry of the audit log of logins; it never contains a token.
  package struct LoginEvent: Hashable, Sendable {
    /// The kind of event.
    package enum Kind: String, Hashable, Sendable {
      /// A certificate was issued.
      case issued
      /// A login was refused.
      case refused
      /// A device key was revoked.
      case revoked
    }

    package var kind: Kind
    package var time: Date
    /// The device key, in hexadecimal.
    package var deviceKey: String?
    package var user: String?
    package var provider: String?
    /// The source of the request, or who has revoked the key.
    package var source: String?
    /// Why a login was refused, or a key revoked.
    package var reason: String?
    /// The serial number of the issued certificate, in hexadecimal.
    package var serialNumber: String?
    /// The expiry of the issued certificate.
    package var validUntil: Date?

    package init(_ kind: Kind, at time: Date) {
      self.kind = kind
      self.time = time
    }

    /// The fields of a JSON object; times are ISO 8601 texts.
    package var fields: [TextKey: Value] {
      var fields: [TextKey: Value] = [
        "event": .string(kind.rawValue), "time": .string(Self.text(time)),
      ]
      fields["deviceKey"] = deviceKey.map { .string($0) }
      fields["user"] = user.map { .string($0) }
      fields["provider"] = provider.map { .string($0) }
      fields["source"] = source.map { .string($0) }
      fields["reason"] = reason.map { .string($0) }
      fields["serialNumber"] = serialNumber.map { .string($0) }
      fields["validUntil"] = validUntil.map { .string(Self.text($0)) }
      return fields
    }

    /// Reads a stored entry; `nil` for anything else.
    init?(json: [UInt8]) {
      guard case .map(let fields)? = try? JSON.parse(json) else { return nil }
      func text(_ name: TextKey) -> String? {
        if case .string(let text)? = fields[name] { text } else { nil }
      }
      guard let kind = text("event").flatMap(Kind.init), let time = text("time").flatMap(Self.date) else {
        return nil
      }
      self.kind = kind
      self.time = time
      deviceKey = text("deviceKey")
      user = text("user")
      provider = text("provider")
      source = text("source")
      reason = text("reason")
      serialNumber = text("serialNumber")
      validUntil = text("validUntil").flatMap(Self.date)
    }

    var json: [UInt8] { Array(JSON.text(of: .map(fields)).utf8) }

    private static let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

    private static func text(_ date: Date) -> String { date.formatted(style) }

    private static func date(_ text: String) -> Date? { try? Date(text, strategy: style) }
  }
#endif
