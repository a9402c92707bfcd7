import ArgumentParser
import Foundation

@main
struct DunlinCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "dunlin", abstract: "An offline-first, peer-to-peer document database.",
    subcommands: [
      DemoCommand.self, ServeCommand.self, ImportCommand.self, ExportCommand.self, QueryCommand.self,
      InspectCommand.self, StatsCommand.self, VerifyCommand.self, RescueCommand.self, BackupCommand.self,
      CompactCommand.self, EvictCommand.self, PeersCommand.self, StatusCommand.self, TopCommand.self,
      WhyCommand.self,
    ] + keyCommands)

  private static var keyCommands: [any ParsableCommand.Type] {
    #if TLS
      [KeyCommand.self, AuthorityCommand.self, CertificateCommand.self]
    #else
      []
    #endif
  }

  static func main() async {
    do {
      try checkDescriptors()
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

extension DunlinCommand {
  /// What the runtime opens for itself when tasks and queues are first used; without it, it ends the process.
  private static let runtimeDescriptors = 5

  /// Sees to it that the runtime can start.
  private static func checkDescriptors() throws {
    let trial = try (0..<runtimeDescriptors).map { _ in
      let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else {
        throw RawFile.failure("dunlin", "the process may open too few files (see ulimit -n)", errno)
      }
      return RawFile(descriptor, name: "/dev/null", closesAtEnd: true)
    }
    withExtendedLifetime(trial) {}
  }
}

extension Error {
  /// The error with words for the user of a command: of Foundation's own errors the sentence alone.
  fileprivate var forPeople: any Error {
    let isFoundations =
      self is CocoaError || self is POSIXError || self is URLError || type(of: self) == NSError.self
    return isFoundations ? ToolError(localizedDescription) : self
  }
}
