#if Server
  import Facade
  package import Logging

  /// The applications of one big peer.
  package struct HostedApplications: Sendable {
    /// All of them, in the configuration's order.
    package let all: [HostedApplication]
    private let byID: [String: HostedApplication]

    /// Opens applications and lets devices connect: all of them, or none.
    ///
    /// - Throws: `BigPeerError` that names the application.
    package static func open(
      _ configurations: [BigPeerConfiguration.Application], logger: Logger
    ) async throws -> HostedApplications {
      var opened: [HostedApplication] = []
      do {
        for configuration in configurations {
          let application = try HostedApplication(configuration, logger: logger)
          opened.append(application)
          try await application.check()
        }
        for application in opened { try application.start() }
      } catch {
        for application in opened { await application.close() }
        throw error
      }
      return HostedApplications(opened)
    }

    private init(_ applications: [HostedApplication]) {
      all = applications
      byID = Dictionary(applications.map { ($0.id, $0) }) { $1 }
    }

    /// The application of an id.
    package subscript(id: String) -> HostedApplication? { byID[id] }

    /// Closes all; devices of all are disconnected at once.
    package func close() async {
      for application in all { application.dunlin.stopSync() }
      for application in all { await application.close() }
    }
  }
#endif
