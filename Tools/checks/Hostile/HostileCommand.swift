import ArgumentParser
import Foundation
import PeerControl

/// Attacks a real peer in ways that an honest one never would, and measures what that costs it.
struct HostileCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "hostile",
    abstract: "Attacks a real peer over TCP on this machine, and measures what that costs it.",
    subcommands: [AttackCommand.self, FrontCommand.self, ListCommand.self, PeerCommand.self],
    defaultSubcommand: AttackCommand.self)
}

/// Prints the rows there are.
struct ListCommand: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "list", abstract: "Print all rows.")

  func run() {
    for row in Rows.all + Rows.controls { print("\(row.name): \(row.summary)") }
    for row in FrontRows.all { print("\(row.name): \(row.summary)") }
  }
}

/// Runs rows and judges them.
struct AttackCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "attack", abstract: "Run rows, each several times, and compare the medians with the aims.")

  @Argument(help: "The rows; all, and the controls, when there is none.")
  var rows: [String] = []
  @Option(help: "How often each row runs.")
  var runs = 5
  @Option(help: "Seconds that an attack lasts at most.")
  var seconds = 10.0
  @Option(help: "Seconds of idling before an attack; as many as an attack lasts when not given.")
  var idle: Double?
  @Option(help: "Seconds after an attack in which honest writes may still come in.")
  var patience = 30.0
  @Option(help: "So many times the limits are allowed.")
  var scale = 1
  @Option(help: "The same of how long honest writes wait; as the other limits when not given.")
  var waitScale: Int?

  @Flag(help: "Print what the victim has to say.")
  var log = false

  func validate() throws {
    guard runs > 0, scale > 0, waitScale ?? 1 > 0, seconds > 0 else {
      throw ValidationError("numbers must be positive")
    }
    for name in rows where Rows.named(name) == nil { throw ValidationError("there is no row \(name)") }
  }

  /// Lets this process, and those that it starts, have the connections of all rows.
  private func allowConnections() {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    limit.rlim_cur = min(limit.rlim_max, max(limit.rlim_cur, 8_192))
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }

  func run() async throws {
    signal(SIGPIPE, SIG_IGN)
    allowConnections()
    let sources = SceneDirectories.removeWhenInterrupted()
    defer {
      SceneDirectories.removeAll()
      withExtendedLifetime(sources) {}
    }
    let chosen = rows.isEmpty ? Rows.controls + Rows.all : rows.compactMap { Rows.named($0) }
    let table = Table()
    table.printHead()
    var missed: [String] = []
    for row in chosen {
      let one = RowRun(
        row: row, program: CommandLine.arguments[0], attack: .seconds(seconds),
        idle: .seconds(idle ?? seconds),
        patience: .seconds(patience), showsLog: log)
      var all: [Figures] = []
      for _ in 0..<runs { all.append(try await one.run()) }
      let figures = Figures(medianOf: all)
      // What must be missed is missed by far, and not by what a busy machine adds.
      let misses =
        row.mustMiss
        ? row.aims.misses(figures, scale: 1, waitScale: 1)
        : row.aims.misses(figures, scale: scale, waitScale: waitScale ?? scale)
      table.print(row, figures, misses)
      if misses.isEmpty == row.mustMiss { missed.append(row.name) }
    }
    guard missed.isEmpty else { throw PeerError("not as it should be: \(missed.joined(separator: ", "))") }
  }
}
