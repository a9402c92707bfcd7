import ArgumentParser

@main
struct DunlinCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "dunlin", abstract: "An offline-first, peer-to-peer document database.",
    subcommands: [ImportCommand.self, ExportCommand.self, InspectCommand.self])
}
