#if Server
  import Facade
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
      self.audit = audit
      self.revocations = revocations
      guard let login = configuration.login,
        let service = try LoginEndpoint.Service(configuration, material)
      else {
        endpoint = nil
        return
      }
      endpoint = LoginEndpoint(
        LoginEndpoint.Parts(
          application: configuration.id, address: service.address, issuer: service.issuer,
          webhook: service.webhook, audit: audit, revocations: revocations,
          longestValidity: service.longestValidity, limits: login.limits, logger: logger.plain))
    }
  }
#endif
