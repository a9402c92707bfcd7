#if Server
  import Logging
  import Synchronization

  /// Takes certificates and keys that were replaced on disk, while the server runs: all of them, or none.
  ///
  /// New connections and new logins use what it has read. What runs goes on with what it began with.
  final class Reloader: Sendable {
    private let configuration: BigPeerConfiguration
    private let applications: HostedApplications
    private let certificate: ServerCertificate?
    private let metrics: ServerMetrics
    private let logger: Logger
    private let isReloading = Mutex(false)

    init(
      _ configuration: BigPeerConfiguration, _ applications: HostedApplications,
      _ certificate: ServerCertificate?, _ metrics: ServerMetrics, _ logger: Logger
    ) {
      self.configuration = configuration
      self.applications = applications
      self.certificate = certificate
      self.metrics = metrics
      self.logger = logger
    }

    /// Reads everything that the settings name, and takes it when all of it is right.
    ///
    /// - Throws: `ConfigurationError` with the place of the setting; `BigPeerError` of an application that cannot take it, or while another
    ///   reload is in flight. It is in the log.
    func reload() async throws {
      do {
        try begin()
        defer { isReloading.withLock { $0 = false } }
        let material = try await StartMaterial(configuration)
        for (application, material) in zip(applications.all, material.applications) {
          try await application.renew(material)
        }
        if let next = material.certificate { certificate?.replace(by: next) }
      } catch {
        metrics.reloaded(isDone: false)
        logger.error("Certificates and keys stay as they were: \(error)")
        throw error
      }
      metrics.reloaded(isDone: true)
      logger.notice("Certificates and keys were read again")
    }

    private func begin() throws(BigPeerError) {
      let isFirst = isReloading.withLock { isReloading in
        defer { isReloading = true }
        return !isReloading
      }
      guard isFirst else { throw BigPeerError("another reload is in flight") }
    }
  }
#endif
