import ArgumentParser
import CRDTCore
import Facade
import Foundation
import PeerControl

struct TopCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "top",
    abstract: "Watch a running peer: its peers, how far behind they are, and how fast its links are.",
    discussion: """
      It shows a new screen every second until Control-C.

      Example: dunlin top store --once
      """)

  @Argument(
    help: "The directory of a store that a peer has open, or the data directory of a big peer that runs.",
    completion: .directory)
  var store: String
  @OptionGroup
  var choice: ApplicationChoice
  @Flag(help: "Show one screen, with the rates of one interval, and end: for scripts.")
  var once = false
  @Option(help: ArgumentHelp("How long between two screens.", valueName: "seconds"))
  var interval = 1.0

  func validate() throws {
    guard interval >= 0.1, interval <= 3_600 else {
      throw ValidationError("--interval is at least 0.1 and at most 3600")
    }
  }

  func run() throws {
    let peer = try StoreAccess.peer(of: store, application: choice.application)
    // There is nothing to clean up, and whoever started the program may have kept Control-C from arriving.
    let interruption = Interruption {}
    defer { interruption.cancel() }
    let isTerminal = isatty(STDOUT_FILENO) == 1
    var last = PeerStatus(try peer.ask("status"))
    // On a terminal something is there at once.
    if isTerminal, !once { try Output.print(LiveScreen.clearing + screen(last, last)) }
    repeat {
      Thread.sleep(forTimeInterval: interval)
      let status = PeerStatus(try peer.ask("status"))
      try Output.print((isTerminal && !once ? LiveScreen.clearing : "") + screen(status, last))
      last = status
    } while !once
  }

  private func screen(_ status: PeerStatus, _ last: PeerStatus) -> String {
    """
    \(status.heading)
    \(status.countsText(since: last))

    \(status.peersText(rates: (last.links, status.uptime - last.uptime)))
    """
  }
}
