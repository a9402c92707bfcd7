#if Server
  import CRDTCore
  package import Foundation
  package import Logging
  import Links

  /// One event of the log as one line, without its end.
  package struct LogLine: Sendable {
    private let time: String
    private let level: String
    private let message: String
    /// By name.
    private let fields: [(name: String, text: String)]

    /// Fields whose values are numbers in JSON.
    private static let numbers: Set<String> = ["status", "milliseconds", "refused", "leftOut"]
    /// Fields of requests whose values a line of text has in its message.
    private static let inMessage: Set<String> = ["method", "route"]

    /// Makes a line.
    ///
    /// - Parameters:
    ///   - level: The level.
    ///   - message: The message.
    ///   - metadata: The fields; those named like a part of each line are left out.
    ///   - date: When it happened.
    package init(_ level: Logger.Level, _ message: String, _ metadata: Logger.Metadata, at date: Date) {
      time = date.timeText
      self.level = level.rawValue
      self.message = message
      fields = metadata.filter { !["time", "level", "message"].contains($0.key) }
        .sorted { $0.key < $1.key }.map { ($0.key, "\($0.value)") }
    }

    /// For people: time, level, message, and the fields by name.
    package var text: String {
      let values = fields.filter { !Self.inMessage.contains($0.name) }
        .map { " \($0.name)=\(Self.escaped($0.text))" }.joined()
      return "\(time) \(level): \(Self.escaped(message))\(values)"
    }

    /// For programs: one JSON object.
    package var json: String {
      let members =
        [("time", time), ("level", level), ("message", message)].map { Self.member($0, quoted: $1) }
        + fields.map { name, text in
          Self.numbers.contains(name) && Double(text)?.isFinite == true
            ? "\(JSON.text(of: .string(name))):\(text)" : Self.member(name, quoted: text)
        }
      return "{\(members.joined(separator: ","))}"
    }

    private static func member(_ name: String, quoted text: String) -> String {
      // Some readers take the two line separators of Unicode for the end of a line.
      let value = JSON.text(of: .string(text)).replacing("\u{2028}", with: "\\u2028")
        .replacing("\u{2029}", with: "\\u2029").replacing("\u{85}", with: "\\u0085")
      return "\(JSON.text(of: .string(name))):\(value)"
    }

    /// The text with its control characters and line separators written out.
    private static func escaped(_ text: String) -> String {
      guard !text.unicodeScalars.allSatisfy(isPlain) else { return text }
      return text.unicodeScalars.map { scalar in
        isPlain(scalar) ? String(scalar) : "\\u{\(String(scalar.value, radix: 16))}"
      }.joined()
    }

    private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
      switch scalar.value {
      case 0..<0x20, 0x7F..<0xA0, 0x2028, 0x2029: false
      default: true
      }
    }
  }
#endif
