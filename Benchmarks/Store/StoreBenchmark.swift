import ArgumentParser

@main
struct StoreBenchmark: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "store", abstract: "Measure the store beside raw LMDB and SQLite, in one run.",
    subcommands: [MeasureCommand.self, TrialCommand.self], defaultSubcommand: MeasureCommand.self)
}
