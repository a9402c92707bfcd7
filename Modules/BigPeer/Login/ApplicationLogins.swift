#if Server
  import Facade
  import Links
  import Logging
  import Transports

  /// The parts of an application for its devices' logins: audit log, revoked keys and login endpoint.
  ///
  /// The endpoint is optional. Keys can also be revoked without one, for devices that have their certificates
  /// from elsewhere.
  package struct ApplicationLogins: Sendable {
    package let audit: LoginAudit
    package let revocations: Revocations
    /// Issues certificates; `nil` if the application has no login endpoint.
    package let endpoint: LoginEndpoint?
    /// Reads the stored revocations, which apply before devices can connect.
    ///
    /// - Throws: What cannot be read, or is wrong in the configuration.
    init(
      _ dunlin: Dunlin, _ configuration: BigPeerConfiguration.Application, _ material: ApplicationMaterial,
      logger: Logger
    ) throws {
      let storage = StoreLoginStorage(dunlin.store)
      let limits = configuration.login?.limits ?? BigPeerConfiguration.LoginLimits()
      let audit = LoginAudit(storage, limits)
      let revocations = try Revocations(storage, audit: audit) { [weak dunlin] keys in
        dunlin?.parts.network.revoke(keys)
      }
      revocations.use { [weak dunlin] in dunlin?.parts.network.revocations }
      self.audit = audit
      self.revocations = revocations
      guard let login = configuration.login,
        let service = try LoginEndpoint.Service(configuration, material)
      else {
        endpoint = nil
        return
      }
      let endpoint = LoginEndpoint(
        LoginEndpoint.Parts(
          application: configuration.id, address: service.address, issuer: service.issuer,
          webhook: service.webhook, audit: audit, revocations: revocations,
          longestValidity: service.longestValidity, limits: login.limits, logger: logger.plain))
      self.endpoint = endpoint
      let shared = SharedRevocations(dunlin) { [endpoint] in endpoint.issuer }
      shared.mend { error in
        logger.error("Other peers do not learn of all revoked device keys: \(error)")
      }
      revocations.share(by: { keys in try await shared.addDurably(keys) })
      do throws(LinkError) {
        // Those of before there was an authority, and those whose last attempt failed.
        try shared.add(Set(revocations.all.map(\.peerKey)))
      } catch {
        logger.error("Other peers do not learn of all revoked device keys: \(error)")
      }
    }
  }
#endif
