#if Server
  import Facade
  package import Logging

  /// The applications of one big peer.
  package struct HostedApplications: Sendable {
    /// All applications, in the configuration's order.
    package let all: [HostedApplication]
    private let byID: [String: HostedApplication]

    /// Opens applications and lets devices connect: all of them, or none.
    ///
    /// - Parameters:
    ///   - configurations: The applications.
    ///   - materials: The contents of the files of each, in the same order.
    ///   - logger: Gets log lines.
    /// - Returns: The applications.
    /// - Throws: `BigPeerError` that names the application.
    package static func open(
      _ configurations: [BigPeerConfiguration.Application], _ materials: [ApplicationMaterial],
      logger: Logger
    ) async throws -> HostedApplications {
      var opened: [HostedApplication] = []
      do {
        for (configuration, material) in zip(configurations, materials) {
          opened.append(try HostedApplication(configuration, material, logger: logger))
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

    /// Closes all applications; the devices of all are disconnected first.
    package func close() async {
      for application in all { application.dunlin.stopSync() }
      for application in all { await application.close() }
    }
  }
#endif
