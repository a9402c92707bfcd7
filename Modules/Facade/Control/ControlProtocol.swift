package import Transports

/// What both ends of a control socket agree on: `Documentation/CommandLine.md` has the protocol.
package enum ControlProtocol {
  /// Goes up when an older client would misunderstand what is said.
  package static let version = 1
  /// The socket's name in the database's directory.
  package static let socketName = "control.sock"

  /// The bytes of a line that a client sends.
  package static let lineBytes = 16 << 20
  /// The bytes of documents that become visible together.
  package static let batchBytes = 64 << 20
  /// Clients at once.
  package static let clients = 32
  /// Requests of one client at once.
  package static let requests = 8
  /// How long a client may ask for nothing, or take nothing of what it has asked for.
  package static let idleTime = Duration.seconds(600)
  /// How often progress is told.
  static let progressInterval = Duration.milliseconds(100)

  /// The socket of the database in a directory.
  package static func socket(in directory: String, reachedBy reached: String? = nil) -> LocalSocket {
    LocalSocket(directory: directory, reachedBy: reached, name: socketName)
  }
}
