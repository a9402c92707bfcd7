#if Server
  import Dispatch
  import DunlinControl
  import Facade
  import Links
  import Logging

  /// The control socket in the data directory, over which `dunlin` and `bigpeer status` work on the
  /// applications of the server that runs.
  struct ControlAccess: Sendable {
    private let socket = ServerControlSocket()

    /// Opens it; a server without it can run, so a failure is only logged.
    func open(in directory: String, _ applications: HostedApplications, _ logger: Logger) async {
      await Self.besideTasks {
        do throws(ControlSocketError) {
          let path = try socket.open(in: directory, release: Dunlin.version, logger: logger) {
            applications.all.map { $0.dunlin.controlled(as: $0.id) }
          }
          logger.debug("The control socket is \(path)")
        } catch {
          logger.warning(
            "There is no control socket, so dunlin does not reach this server: \(Self.reason(error))")
        }
      }
    }

    /// Closes it for ever; clients are told.
    func close() async { await Self.besideTasks { socket.close() } }

    private static func reason(_ error: ControlSocketError) -> String {
      switch error {
      case .closed: "it is closed"
      case .link(let error, _): error.message
      }
    }

    /// Runs what blocks away from the threads of tasks.
    private static func besideTasks(_ body: @escaping @Sendable () -> Void) async {
      await withCheckedContinuation { continuation in
        DispatchQueue.global().async {
          body()
          continuation.resume()
        }
      }
    }
  }
#endif
