import ArgumentParser

@main
struct QueriesBenchmark: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "queries",
    abstract: "Measure queries beside SQLite and loops over raw LMDB, or compare answers with SQLite's.",
    subcommands: [MeasureCommand.self, TrialCommand.self, OracleCommand.self],
    defaultSubcommand: MeasureCommand.self)
}
