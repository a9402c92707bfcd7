package import CRDTCore
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
  package static func socket(in directory: String) -> LocalSocket {
    LocalSocket(directory: directory, name: socketName)
  }

  /// A message as a line, which keeps the type of every value.
  package static func line(_ message: [TextKey: Value]) -> [UInt8] {
    var line: [UInt8] = []
    JSON.write(.map(message), to: &line, options: .init(isLossless: true))
    line.append(0x0A)
    return line
  }

  /// The message of a line.
  ///
  /// - Throws: `syntax` when it is no JSON object.
  package static func message(_ line: [UInt8]) throws(ControlError) -> [TextKey: Value] {
    do {
      guard case .map(let message) = try JSON.parse(line, options: .init(interpretsTags: true)) else {
        throw ControlError(.syntax, "a line must be a JSON object")
      }
      return message
    } catch let error as ControlError {
      throw error
    } catch {
      throw ControlError(.syntax, "a line is no JSON object: \(error)")
    }
  }
}
