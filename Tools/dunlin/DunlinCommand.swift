import ArgumentParser
import Foundation

@main
struct DunlinCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "dunlin", abstract: "An offline-first, peer-to-peer document database.",
    subcommands: [
      DemoCommand.self, ServeCommand.self, ImportCommand.self, ExportCommand.self, QueryCommand.self,
      InspectCommand.self, StatsCommand.self, VerifyCommand.self, RescueCommand.self, BackupCommand.self,
      CompactCommand.self, EvictCommand.self,
    ])

  static func main() async {
    do {
      let command = try parseAsRoot()
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        var command = command
        try command.run()
      }
    } catch {
      exit(withError: error.forPeople)
    }
  }
}

extension Error {
  /// The error with words for the user of a command: of Foundation's own errors the sentence alone.
  fileprivate var forPeople: any Error {
    let isFoundations = self is CocoaError || self is POSIXError || self is URLError || type(of: self) == NSError.self
    return isFoundations ? ToolError(localizedDescription) : self
  }
}
