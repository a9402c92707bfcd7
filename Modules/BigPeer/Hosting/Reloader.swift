#if Server
  import Logging
  import Synchronization

  /// Reads replaced certificates and keys from disk while the server runs.
  ///
  /// New connections and new logins use them; open connections keep theirs. Nothing is used before all files
  /// are verified. Applications that could not be served are opened again.
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

    /// Reads all files that the settings name, and uses them if all are valid.
    ///
    /// - Throws: `ConfigurationError` with the place of the setting; `BigPeerError` of an application that
    ///   cannot use its files, or while another reload is in flight. The error is also logged.
    func reload() async throws {
      let changes: HostedApplications.Changes
      do {
        try begin()
        defer { isReloading.withLock { $0 = false } }
        let material = try await StartMaterial(configuration)
        try material.checkValidity()
        changes = try await applications.apply(configuration.applications, material.applications)
        if let next = material.certificate { certificate?.replace(by: next) }
      } catch {
        metrics.reloaded(isDone: false)
        let mistakes = (error as? ConfigurationError)?.all.map(\.description).joined(separator: "; ")
        logger.error("Certificates and keys could not be renewed: \(mistakes ?? "\(error)")")
        throw error
      }
      metrics.reloaded(isDone: true)
      logger.notice("Certificates and keys were read again")
      for id in changes.repaired {
        logger.notice("An application is served again", metadata: ["application": "\(id)"])
      }
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
