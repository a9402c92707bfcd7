#if TLS
  import CRDTCore
  import Foundation

  /// The entries of all revocation lists in the form in which certificates are looked up.
  struct RevocationIndex: Sendable {
    private var keys: Set<PeerKey> = []
    private var certificates: Set<CertificateFacts.Name> = []
    /// The latest time of all entries for a user, in seconds since 1970.
    private var users: [TextKey: Int64] = [:]
    /// What the application's authority itself has named.
    ///
    /// Only that can be an authority: an intermediate one revokes no authority.
    private var byRoot: (keys: Set<PeerKey>, certificates: Set<CertificateFacts.Name>) = ([], [])

    init() {}

    /// Adds entries that are needed at a time; the others name what is no longer valid anyway.
    mutating func insert(_ entries: some Sequence<RevocationEntry>, byRoot isByRoot: Bool, at time: Date) {
      for entry in entries where entry.isNeeded(at: time) {
        switch entry.subject {
        case .key(let key):
          keys.insert(key)
          if isByRoot { byRoot.keys.insert(key) }
        case .certificate(let issuer, let serialNumber):
          let name = CertificateFacts.Name(issuer: issuer, serialNumber: serialNumber)
          certificates.insert(name)
          if isByRoot { byRoot.certificates.insert(name) }
        case .user(let user, let issuedBefore):
          users[TextKey(user)] = max(users[TextKey(user)] ?? 0, issuedBefore)
        case .unknown: break
        }
      }
    }

    /// Why a peer with these certificates is not trusted; `nil` if nothing of it is revoked.
    func reason(_ facts: CertificateFacts) -> String? {
      if let key = facts.key, keys.contains(key) { return "its key is revoked" }
      if certificates.contains(facts.name) { return "its certificate is revoked" }
      if let user = facts.user, let time = users[TextKey(user)], facts.validFrom < time {
        return "the certificates of its user that were issued before a time are revoked"
      }
      for authority in facts.authorities {
        if byRoot.certificates.contains(authority.name) || authority.key.map(byRoot.keys.contains) == true {
          return "the intermediate authority that has issued its certificate is revoked"
        }
      }
      return nil
    }

    /// The time before which certificates of a user are revoked, in seconds since 1970.
    func cutoff(ofUser user: String) -> Int64? { users[TextKey(user)] }

    /// Whether a device key is named.
    func contains(_ key: PeerKey) -> Bool { keys.contains(key) }

    /// The number of keys, certificates and users that are named.
    var count: Int { keys.count + certificates.count + users.count }
  }
#endif
