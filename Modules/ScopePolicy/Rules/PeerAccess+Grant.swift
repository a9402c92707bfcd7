import CRDTCore
package import SyncProtocol

extension PeerAccess {
  /// What a grant lets a peer do, in the form that a session asks.
  ///
  /// - Parameters:
  ///   - grant: The grant, in its canonical form.
  ///   - rules: The rules that it refers to, in their canonical form.
  ///   - user: The user that the peer's certificate names.
  /// - Throws: Why the grant cannot be read; `unenforced` for rules that this release cannot enforce.
  package init(grant: [UInt8], rules: [UInt8], user: String?) throws(RulesError) {
    try self.init(Grant(canonical: grant), AccessRules(canonical: rules), user: user)
  }

  /// What a grant with its rules lets a peer do.
  ///
  /// - Throws: `unenforced` for rules that restrict writing, which this release cannot enforce.
  package init(_ grant: Grant, _ rules: AccessRules, user: String?) throws(RulesError) {
    guard rules.write.isEverything else {
      throw RulesError(.unenforced, "rules that restrict writing are not enforced yet", at: "write")
    }
    let reading = Self.reading(rules, grant.claims, user: user)
    self.init(
      reading: reading, runsStatements: grant.remoteQueries && reading == .everything,
      hearsPresence: grant.presence != .none)
  }

  private static func reading(_ rules: AccessRules, _ claims: Claims, user: String?) -> Reading {
    guard !rules.read.isEverything else { return .everything }
    let access = CompiledRules(rules, claims: claims, user: user).read
    var readable: [TextKey: ReadRule] = [:]
    for name in rules.read.queries.keys.sorted() {
      let rule = access.rule(for: name.text)
      if rule.isNothing { continue }
      readable[name] = ReadRule(rule)
    }
    return .collections(readable)
  }
}

extension ReadRule {
  fileprivate init(_ rule: CollectionRule) {
    if rule.isEverything {
      self = .all
    } else if rule.dependsOnIDAlone {
      self.init(fingerprint: rule.fingerprint) { rule.allows(id: $0) }
    } else {
      self.init(fingerprint: rule.fingerprint, allows: rule.predicates)
    }
  }
}
