import ArgumentParser

/// Breaks stores on purpose and looks whether they keep what they promised.
struct TortureCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "torture",
    abstract: "Breaks stores on purpose and looks whether they keep what they promised.",
    subcommands: [
      KillCommand.self, PowerCommand.self, FaultsCommand.self, BitsCommand.self, PagesCommand.self,
      FullCommand.self,
      ProcessesCommand.self,
    ])
}
