#if TLS
  package import CRDTCore

  extension PeerCredentials {
    /// Prepares TLS over a link that has no other user; it starts when a user is attached.
    ///
    /// - Parameters:
    ///   - link: The link that carries the encrypted bytes.
    ///   - isDialing: Whether this end has opened the connection.
    ///   - instance: A random number that identifies the process.
    ///   - site: The site that this peer's store writes as.
    ///   - salt: The salt that derives the site from the peer's key.
    ///   - revoked: Keys whose owners are refused, and whose links end.
    ///   - grants: The grants of peers that were met before.
    /// - Returns: The link for the session.
    package func secure(
      _ link: any Link, isDialing: Bool, instance: UInt64, site: SiteID, salt: SiteSalt,
      refusing revoked: RevokedKeys, keeping grants: GrantBook = GrantBook()
    ) -> any ProvenLink {
      var credentials = self
      credentials.check.revoked = revoked
      let own = SecureLink.Own(
        credentials: credentials, instance: instance, site: site, salt: salt, grants: grants)
      return SecureLink(over: link, as: own, isDialing: isDialing)
    }
  }
#endif
