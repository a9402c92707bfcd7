import ArgumentParser
import CRDTCore
import Facade
import Foundation
import Logging
import PeerControl

/// A real peer in a process of its own: the victim, an honest neighbour, whoever a row needs.
///
/// It is steered by JSON lines on standard input, and ends when that does.
struct PeerCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "peer", abstract: "Be one of the peers of a row.", shouldDisplay: false)

  /// The application that all peers of a row belong to, and say they belong to.
  static let appID = "dunlin-hostile"

  @Argument(help: "The store's directory.")
  var store: String
  @Option(help: "What the peer calls itself.")
  var name: String
  @Flag(help: "Run queries for other peers.")
  var answerQueries = false

  func run() throws {
    LoggingSystem.bootstrap { ErrorLog(label: $0) }
    signal(SIGINT, SIG_IGN)
    let dunlin = try Dunlin(
      path: store, identity: .unsafeDevelopment(appID: Self.appID),
      configuration: .init(peerName: name, answersRemoteQueries: answerQueries))
    let actions = PeerActions(dunlin)
    while let line = readLine() {
      guard case .map(let request)? = try? JSON.parse(Array(line.utf8), options: .init(interpretsTags: true))
      else { continue }
      var answer: [TextKey: Value]
      do {
        answer = try actions.perform(request.text("do"), request)
      } catch {
        answer = ["error": .string("\(error)")]
      }
      answer["id"] = request["id"] ?? .null
      Self.send(answer)
    }
    try dunlin.close()
  }

  private static func send(_ message: [TextKey: Value]) {
    var line: [UInt8] = []
    JSON.write(.map(message), to: &line, options: .init(isLossless: true))
    line.append(0x0A)
    try? FileHandle.standardOutput.write(contentsOf: Data(line))
  }
}

/// Log lines on standard error, from `info` on: what peers make the log say is part of what they cost.
private struct ErrorLog: LogHandler {
  let label: String
  var logLevel = Logger.Level.info
  var metadata: Logger.Metadata = [:]

  init(label: String) { self.label = label }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    FileHandle.standardError.write(Data("\(event.level): \(event.message)\n".utf8))
  }
}
