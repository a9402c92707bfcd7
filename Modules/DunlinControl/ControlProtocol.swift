package import Links

/// The constants of the control protocol; `Documentation/CommandLine.md` describes the protocol.
public enum ControlProtocol {
  /// The protocol version; it is increased when an older client would misunderstand a message.
  public static let version = 1
  /// The socket's name in the database's directory.
  public static let socketName = "control.sock"

  /// The greatest number of bytes of a line that a client sends.
  public static let lineBytes = 16 << 20
  /// The greatest number of bytes of documents that become visible together.
  public static let batchBytes = 64 << 20
  /// The greatest number of clients at the same time.
  public static let clients = 32
  /// The greatest number of requests of one client at the same time.
  public static let requests = 8
  /// The greatest number of rows in a line of an answer.
  static let rowsInLine = 256
  /// How long a client may send no request, or read nothing of the answers to its requests.
  public static let idleTime = Duration.seconds(600)
  /// How often progress is sent.
  static let progressInterval = Duration.milliseconds(100)

  /// The socket of the database in a directory.
  package static func socket(in directory: String, reachedBy reached: String? = nil) -> LocalSocket {
    LocalSocket(directory: directory, reachedBy: reached, name: socketName)
  }
}
