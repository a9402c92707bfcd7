package import Links

/// The constants of the control protocol; `Documentation/CommandLine.md` describes the protocol.
package enum ControlProtocol {
  /// The protocol version; it is increased when an older client would misunderstand a message.
  package static let version = 1
  /// The socket's name in the database's directory.
  package static let socketName = "control.sock"

  /// The greatest number of bytes of a line that a client sends.
  package static let lineBytes = 16 << 20
  /// The greatest number of bytes of documents that become visible together.
  package static let batchBytes = 64 << 20
  /// The greatest number of clients at the same time.
  package static let clients = 32
  /// The greatest number of requests of one client at the same time.
  package static let requests = 8
  /// How long a client may send no request, or read nothing of the answers to its requests.
  package static let idleTime = Duration.seconds(600)
  /// How often progress is sent.
  static let progressInterval = Duration.milliseconds(100)

  /// The socket of the database in a directory.
  package static func socket(in directory: String, reachedBy reached: String? = nil) -> LocalSocket {
    LocalSocket(directory: directory, reachedBy: reached, name: socketName)
  }
}
