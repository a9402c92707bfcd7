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
  @Flag(help: "Be a big peer, with its listeners for HTTP.")
  var big = false

  func run() throws {
    // What peers make the log say is part of what they cost.
    LoggingSystem.bootstrap { _ in StandardErrorLog(from: .info) }
    signal(SIGINT, SIG_IGN)
    #if Server
      if big {
        let victim = try BigPeerVictim.start(at: store, name: name)
        serve(PeerActions(victim.dunlin, http: victim.fields))
        return victim.stop()
      }
    #endif
    let dunlin = try Dunlin(
      path: store, identity: .unsafeDevelopment(appID: Self.appID),
      configuration: .init(peerName: name, answersRemoteQueries: answerQueries))
    serve(PeerActions(dunlin))
    try dunlin.close()
  }

  private func serve(_ actions: PeerActions) {
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
  }

  private static func send(_ message: [TextKey: Value]) {
    var line: [UInt8] = []
    JSON.write(.map(message), to: &line, options: .init(isLossless: true))
    line.append(0x0A)
    try? FileHandle.standardOutput.write(contentsOf: Data(line))
  }
}
