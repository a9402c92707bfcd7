package import CRDTCore
package import QueryLanguage

/// What the users of a role may read and write: a text that all of them share.
///
/// It has the form in which a webhook gives permissions. Nothing that it does not name is allowed. Two texts
/// with the same rules have the same canonical form, whose hash names them in a ``Grant``.
package struct AccessRules: Sendable {
  /// The most bytes of the canonical form.
  package static let byteLimit = 16 << 10
  /// The most bytes of a text that is read, with its spaces.
  package static let sourceBytes = 64 << 10
  /// The most queries to read, and to write, in all collections together.
  package static let queryLimit = 256

  /// What may be read, or what may be written.
  package struct Access: Sendable {
    /// Whether it is every document of every collection but the system's.
    package let isEverything: Bool
    /// The queries by collection, of which one must accept a document.
    ///
    /// They have the order of the text that was read. No list is empty.
    package let queries: [TextKey: [RuleQuery]]

    /// Nothing at all.
    package static let nothing = Access(isEverything: false, queries: [:])
    /// Every document.
    package static let everything = Access(isEverything: true, queries: [:])

    init(isEverything: Bool, queries: [TextKey: [RuleQuery]]) {
      self.isEverything = isEverything
      self.queries = queries
    }
  }

  package let read: Access
  package let write: Access
  /// The canonical form: JSON with sorted members and queries, without spaces.
  package let canonical: [UInt8]

  /// Rules that allow everything, as peers have without a grant.
  package static let everything = AccessRules(read: .everything, write: .everything)
  /// Rules that allow nothing.
  package static let nothing = AccessRules(read: .nothing, write: .nothing)

  package init(read: Access, write: Access) {
    self.read = read
    self.write = write
    canonical = Array(JSON.text(of: .map(["read": read.value, "write": write.value])).utf8)
  }

  /// Reads rules from JSON in any layout.
  ///
  /// - Parameter text: The text.
  /// - Throws: The first mistake.
  package init(json text: [UInt8]) throws(RulesError) {
    let parsed = try RulesText.parse(text, limit: Self.sourceBytes, "the rules")
    try self.init(parsed.value, lines: parsed.lines)
  }

  /// Reads rules from a value, as a webhook's answer has them under `permissions`.
  ///
  /// - Parameters:
  ///   - value: The value.
  ///   - lines: The lines of the text, for errors; `nil` if they are unknown.
  /// - Throws: The first mistake.
  package init(_ value: Value, lines: JSONTextLines? = nil) throws(RulesError) {
    var reader = AccessRulesReader()
    let rules = reader.read(value, lines)
    if let mistake = reader.mistakes.first { throw mistake }
    guard let rules else { throw RulesError(.malformed, "the rules cannot be read") }
    self = rules
  }

  /// Reads rules that a hash names, which must be in their canonical form.
  ///
  /// - Parameter text: The text.
  /// - Throws: The first mistake; `notCanonical` for another form of the same rules.
  package init(canonical text: [UInt8]) throws(RulesError) {
    guard text.count <= Self.byteLimit else { throw RulesText.tooLong("the rules", Self.byteLimit) }
    try self.init(json: text)
    guard canonical == text else { throw RulesText.notCanonical("the rules") }
  }

  /// All mistakes of a text, in the order of the text; none if it can be read.
  package static func mistakes(in text: [UInt8]) -> [RulesError] {
    do throws(RulesError) {
      let parsed = try RulesText.parse(text, limit: sourceBytes, "the rules")
      var reader = AccessRulesReader()
      _ = reader.read(parsed.value, parsed.lines)
      return reader.mistakes
    } catch {
      return [error]
    }
  }

  /// The claims whose values the queries take, in order.
  package var claims: [TextKey] {
    Set([read, write].flatMap(\.parameters).compactMap(RuleQuery.claim)).sorted()
  }

  /// Whether a query takes the user's id.
  package var takesUser: Bool { [read, write].contains { $0.parameters.contains(RuleQuery.user) } }
}

extension AccessRules: Hashable {
  package static func == (left: Self, right: Self) -> Bool { left.canonical == right.canonical }

  package func hash(into hasher: inout Hasher) { hasher.combine(canonical) }
}

extension AccessRules.Access {
  /// The number of queries in all collections.
  package var queryCount: Int { queries.values.reduce(0) { $0 + $1.count } }

  fileprivate var parameters: Set<TextKey> {
    queries.values.joined().reduce(into: []) { $0.formUnion($1.parameters) }
  }

  fileprivate var value: Value {
    .map([
      "everything": .bool(isEverything),
      "queriesByCollection": .map(
        queries.mapValues { .array(Set($0.map(\.$text)).sorted().map { .string($0.text) }) }),
    ])
  }
}
