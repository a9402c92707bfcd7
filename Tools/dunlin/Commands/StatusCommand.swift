import ArgumentParser
import CRDTCore
import Facade
import PeerControl

struct StatusCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Show how a running peer stands, on one screen.",
    discussion: """
      Who it is, where it listens, its peers, what it subscribes to, and what keeps it from peers.

      Example: dunlin status store --json
      """
  )

  @Argument(
    help: "The directory of a store that a peer has open, or the data directory of a big peer that runs.",
    completion: .directory)
  var store: String
  @OptionGroup
  var choice: ApplicationChoice
  @Flag(help: "Print one JSON object.")
  var json = false

  func run() throws {
    let status = try StoreAccess.peer(of: store, application: choice.application).ask("status")
    try Output.print(json ? JSON.text(of: .map(status)) : PeerStatus(status).text)
  }
}
