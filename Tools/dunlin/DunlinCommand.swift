import ArgumentParser

@main
struct DunlinCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "dunlin", abstract: "An offline-first, peer-to-peer document database.",
    subcommands: [
      DemoCommand.self, ServeCommand.self, ImportCommand.self, ExportCommand.self, QueryCommand.self,
      InspectCommand.self, StatsCommand.self, VerifyCommand.self, RescueCommand.self, BackupCommand.self,
      CompactCommand.self, EvictCommand.self,
    ])
}
