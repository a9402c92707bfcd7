package import CRDTCore

/// What an identity may do: a text whose SHA-256 stands in a certificate.
///
/// The user's id is not part of it, since the certificate has it. So two users of one role with the same
/// claims have the same grant.
package struct Grant: Sendable {
  /// The most bytes of the canonical form, of which the claims take the most.
  package static let byteLimit = 5 << 10
  /// The most bytes of a text that is read, with its spaces.
  package static let sourceBytes = 16 << 10
  /// The most bytes of the name of rules, and of a node.
  package static let nameBytes = 100

  /// Which peers others hear about from this one.
  package enum Presence: String, Hashable, Sendable, CaseIterable {
    /// All peers of the mesh.
    case mesh
    /// The direct neighbours.
    case neighbours
    /// None.
    case none
  }

  /// Rules by their name, and by the hash of their canonical form.
  package struct RulesReference: Hashable, Sendable {
    /// A name for people.
    @TextKey package private(set) var name: String
    /// The SHA-256 of ``AccessRules/canonical``, in 64 hexadecimal digits.
    package let sha256: String

    package init(name: String, sha256: String) {
      self.name = name
      self.sha256 = sha256
    }
  }

  package let rules: RulesReference
  package let claims: Claims
  /// Whether the peer is a carrier, which is taken at its word for what it brings.
  package let forwards: Bool
  /// Whether its queries are answered, within its rules.
  package let remoteQueries: Bool
  package let presence: Presence
  /// The node of a cluster; unused now.
  package let node: String?
  /// The canonical form: JSON with sorted members, without spaces; `node` is left out where there is none.
  package let canonical: [UInt8]

  /// Makes a grant.
  ///
  /// - Parameters:
  ///   - rules: What may be read and written.
  ///   - claims: What the issuer says about the user.
  ///   - forwards: Whether the peer is a carrier.
  ///   - remoteQueries: Whether its queries are answered.
  ///   - presence: Which peers it hears about.
  ///   - node: The node of a cluster.
  /// - Throws: `malformed` for a hash that is none, or a name with control characters; `limit`.
  package init(
    rules: RulesReference, claims: Claims = .none, forwards: Bool = false, remoteQueries: Bool = false,
    presence: Presence = .neighbours, node: String? = nil
  ) throws(RulesError) {
    try Self.check(name: rules.name, at: "rules.name")
    try Self.check(sha256: rules.sha256)
    if let node { try Self.check(name: node, at: "node") }
    self.rules = rules
    self.claims = claims
    self.forwards = forwards
    self.remoteQueries = remoteQueries
    self.presence = presence
    self.node = node
    var members: [TextKey: Value] = [
      "rules": .map(["name": .string(rules.name), "sha256": .string(rules.sha256)]),
      "claims": .map(claims.values), "forwards": .bool(forwards), "remoteQueries": .bool(remoteQueries),
      "presence": .string(presence.rawValue),
    ]
    members["node"] = node.map { .string($0) }
    canonical = Array(JSON.text(of: .map(members)).utf8)
  }

  /// Reads a grant from JSON in any layout.
  ///
  /// Only `rules` is required: without them there are no claims, nothing is forwarded, no query is answered,
  /// and `presence` is `neighbours`.
  ///
  /// - Parameter text: The text.
  /// - Throws: The first mistake.
  package init(json text: [UInt8]) throws(RulesError) {
    let parsed = try RulesText.parse(text, limit: Self.sourceBytes, "the grant")
    var members = try JSONMembers<RulesError>(parsed.value, of: "the grant", lines: parsed.lines)
    guard var reference = try members.object("rules") else { throw members.fault("rules", .missing(.object)) }
    let rules = RulesReference(
      name: try reference.requiredText("name", bytes: Self.nameBytes),
      sha256: try reference.requiredText("sha256", bytes: 64))
    try reference.finish()
    let claims = try Claims(try members.map("claims") ?? [:], lines: parsed.lines.members["claims"])
    let presence = try members.value(
      "presence", or: "must be \(Presence.allCases.map(\.rawValue).joined(separator: ", "))"
    ) { value -> Presence? in
      guard case .string(let text) = value else { return nil }
      return Presence(rawValue: text)
    }
    let (forwards, remoteQueries) = (try members.flag("forwards"), try members.flag("remoteQueries"))
    let node = try members.text("node", bytes: Self.nameBytes)
    try members.finish()
    try self.init(
      rules: rules, claims: claims, forwards: forwards ?? false, remoteQueries: remoteQueries ?? false,
      presence: presence ?? .neighbours, node: node)
  }

  /// Reads a grant that a certificate's hash names, which must be in its canonical form.
  ///
  /// - Parameter text: The text.
  /// - Throws: The first mistake; `notCanonical` for another form of the same grant.
  package init(canonical text: [UInt8]) throws(RulesError) {
    guard text.count <= Self.byteLimit else {
      throw RulesError(.limit, "the grant takes more than \(Self.byteLimit) bytes")
    }
    try self.init(json: text)
    guard canonical == text else { throw RulesText.notCanonical("the grant") }
  }

  private static func check(name: String, at path: String) throws(RulesError) {
    guard (1...nameBytes).contains(name.utf8.count) else {
      throw RulesError(.limit, "it must have 1 to \(nameBytes) bytes", at: path)
    }
    guard !name.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F }) else {
      throw RulesError(.malformed, "it must have no control characters", at: path)
    }
  }

  private static func check(sha256: String) throws(RulesError) {
    let digits = Array("0123456789abcdef".utf8)
    guard sha256.utf8.count == 64, sha256.utf8.allSatisfy(digits.contains) else {
      throw RulesError(
        .malformed, "it must have 64 hexadecimal digits in lower case", at: "rules.sha256")
    }
  }
}

extension Grant: Hashable {
  package static func == (left: Self, right: Self) -> Bool { left.canonical == right.canonical }

  package func hash(into hasher: inout Hasher) { hasher.combine(canonical) }
}
