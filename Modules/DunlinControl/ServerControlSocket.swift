import Links
package import Logging

/// The control socket of a server: one in its data directory, for all of its applications.
package final class ServerControlSocket: Sendable {
  private let host = ControlHost(idleTime: ControlProtocol.idleTime)

  /// Makes one that is not open.
  package init() {}

  /// Starts to listen; blocks the calling thread until then.
  ///
  /// - Parameters:
  ///   - directory: The server's data directory.
  ///   - release: The release that each client is greeted with.
  ///   - logger: Gets the log lines of the socket.
  ///   - applications: The applications at the time of a request.
  /// - Returns: The socket's path.
  /// - Throws: `closed`; `link` with what is in the way of the socket.
  package func open(
    in directory: String, release: String, logger: Logger,
    applications: @escaping @Sendable () -> [ControlledApplication]
  ) throws(ControlSocketError) -> String {
    try host.open(ControlProtocol.socket(in: directory), logger: logger) {
      ServerTargets(release: release, applications: applications)
    }
  }

  /// Stops for ever, and tells the clients; blocks the calling thread for a second at most.
  package func close() { host.close() }
}
