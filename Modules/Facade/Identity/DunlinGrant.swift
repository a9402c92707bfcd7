#if TLS
  import CRDTCore
  package import Links
  import ScopePolicy
  import SyncProtocol

  /// What the holder of a certificate may do: the rules of a role, and what the issuer says about the user.
  ///
  /// Rules that this release cannot enforce are refused: those that restrict writing. A certificate without a
  /// grant lets its holder do everything.
  public struct DunlinGrant: Hashable, Sendable {
    /// The texts that stand beside the certificate.
    package let texts: GrantTexts
    private let grant: Grant
    private let accessRules: AccessRules

    /// Makes a grant.
    ///
    /// - Parameters:
    ///   - rules: The rules, a JSON object, as `Rules.md` explains them.
    ///   - name: The name of the rules for people, 1 to 100 bytes.
    ///   - claims: What rules read as `:claims.NAME`: texts, numbers, true, false, and lists of these, at
    ///     most 4 KiB as JSON. Every peer that the device meets can read them.
    ///   - answersQueries: Whether other peers run the device's statements, if it may read everything.
    ///   - hearsPresence: Whether the device hears of the presence of other peers.
    /// - Throws: `identity`, with what is wrong and where.
    public init(
      rules: String, name: String, claims: [String: Any?] = [:], answersQueries: Bool = false,
      hearsPresence: Bool = true
    ) throws {
      let values = try translatingErrors { try Value.fields(claims) }
      do throws(RulesError) {
        accessRules = try AccessRules(json: Array(rules.utf8))
        grant = try Grant(
          rules: Grant.RulesReference(name: name, sha256: TextDigest.sha256(of: accessRules.canonical)),
          claims: try Claims(values), remoteQueries: answersQueries,
          presence: hearsPresence ? .neighbours : .none)
      } catch {
        throw DunlinError(.identity, "the grant is wrong: \(error.message)")
      }
      let (grant, accessRules) = (grant, accessRules)
      texts = try translatingErrors {
        try GrantTexts(checking: grant.canonical, rules: accessRules.canonical)
      }
    }

    /// Checks that other peers can enforce the grant.
    ///
    /// - Throws: `identity`, with the rules that they cannot.
    func check(user: String?) throws {
      do throws(RulesError) {
        _ = try PeerAccess(grant, accessRules, user: user)
      } catch {
        throw DunlinError(.identity, "the grant cannot be enforced: \(error.message)")
      }
    }

    public static func == (left: DunlinGrant, right: DunlinGrant) -> Bool { left.texts == right.texts }

    public func hash(into hasher: inout Hasher) { hasher.combine(texts) }
  }
#endif
