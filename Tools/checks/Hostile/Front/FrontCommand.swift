import ArgumentParser

/// Attacks the HTTP API of a big peer, and measures what that costs it.
struct FrontCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "front",
    abstract: "Attack the HTTP API of a big peer, and compare what that costs it with the aims.")

  @Argument(help: "The rows; all, and their controls, when there is none.")
  var rows: [String] = []
  @Option(help: "The program bigpeer.")
  var bigpeer: String
  @OptionGroup var options: TrialOptions

  private static let all = FrontRows.all.flatMap(\.runs)

  func validate() throws {
    for name in rows where !Self.all.contains(where: { $0.name == name }) {
      throw ValidationError("there is no row \(name)")
    }
  }

  func run() async throws {
    try await options.judge(
      Self.all.filter { rows.isEmpty || rows.contains($0.name) }.map { chosen in
        Trial(name: chosen.name, aims: chosen.row.aims, mustMiss: chosen.isControl) { options in
          let run = FrontRun(
            run: chosen, program: bigpeer, attack: options.attackTime, idle: options.idleTime,
            patience: options.patienceTime)
          return try await run.run()
        }
      })
  }
}
