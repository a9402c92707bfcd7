import ArgumentParser

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
  @OptionGroup var options: TrialOptions
  @Flag(help: "Print what the victim has to say.")
  var log = false

  func validate() throws {
    for name in rows where Rows.named(name) == nil { throw ValidationError("there is no row \(name)") }
  }

  func run() async throws {
    let chosen = rows.isEmpty ? Rows.controls + Rows.all : rows.compactMap { Rows.named($0) }
    try await options.judge(
      chosen.map { row in
        Trial(name: row.name, aims: row.aims, mustMiss: row.mustMiss) { options in
          let run = RowRun(
            row: row, program: CommandLine.arguments[0], attack: options.attackTime, idle: options.idleTime,
            patience: options.patienceTime, showsLog: log)
          return try await run.run()
        }
      })
  }
}
