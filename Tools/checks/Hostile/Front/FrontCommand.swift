import ArgumentParser
import Foundation
import PeerControl

/// Attacks the HTTP API of a big peer, and measures what that costs it.
struct FrontCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "front",
    abstract: "Attack the HTTP API of a big peer, and compare what that costs it with the aims.")

  @Argument(help: "The rows; all, and their controls, when there is none.")
  var rows: [String] = []
  @Option(help: "The program bigpeer.")
  var bigpeer: String
  @Option(help: "How often each row runs.")
  var runs = 5
  @Option(help: "Seconds that an attack lasts at most.")
  var seconds = 10.0
  @Option(help: "Seconds of idling before an attack; as many as an attack lasts when not given.")
  var idle: Double?
  @Option(help: "Seconds that an honest write may take.")
  var patience = 30.0
  @Option(help: "So many times the limits are allowed.")
  var scale = 1
  @Option(help: "The same of how long honest writes wait; as the other limits when not given.")
  var waitScale: Int?

  private static let all = FrontRows.all.flatMap(\.runs)

  func validate() throws {
    guard runs > 0, scale > 0, waitScale ?? 1 > 0, seconds > 0, patience >= 1 else {
      throw ValidationError("numbers must be positive")
    }
    for name in rows where !Self.all.contains(where: { $0.name == name }) {
      throw ValidationError("there is no row \(name)")
    }
  }

  func run() async throws {
    signal(SIGPIPE, SIG_IGN)
    let sources = SceneDirectories.removeWhenInterrupted()
    defer {
      SceneDirectories.removeAll()
      withExtendedLifetime(sources) {}
    }
    let table = Table()
    table.printHead()
    var missed: [String] = []
    for chosen in Self.all where rows.isEmpty || rows.contains(chosen.name) {
      let one = FrontRun(
        run: chosen, program: bigpeer, attack: .seconds(seconds), idle: .seconds(idle ?? seconds),
        patience: .seconds(patience))
      var figures: [Figures] = []
      for _ in 0..<runs { figures.append(try await one.run()) }
      let median = Figures(medianOf: figures)
      // What must be missed is missed by far, and not by what a busy machine adds.
      let misses =
        chosen.isControl
        ? chosen.row.aims.misses(median, scale: 1, waitScale: 1)
        : chosen.row.aims.misses(median, scale: scale, waitScale: waitScale ?? scale)
      table.print(chosen.name, median, misses, mustMiss: chosen.isControl)
      if misses.isEmpty == chosen.isControl { missed.append(chosen.name) }
    }
    guard missed.isEmpty else { throw PeerError("not as it should be: \(missed.joined(separator: ", "))") }
  }
}
