import ArgumentParser
import Foundation

@main
struct DunlinCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "dunlin", abstract: "An offline-first, peer-to-peer document database.",
    discussion: """
      Examples:
        dunlin demo
        dunlin import store flights flights.jsonl.gz
        dunlin query store "SELECT * FROM flights LIMIT 3"
        dunlin serve store --listen 0.0.0.0:4040 --subscribe flights

      Status: 0 done, 1 not done, 2 not arrived (why), 3 something is damaged, 4 done but for records left \
      out, 64 a command line that cannot be understood, 128 and a signal's number. --generate-completion-script makes completions for bash, zsh and fish.
      """, version: VersionText.text,
    subcommands: [
      DemoCommand.self, BenchCommand.self, ServeCommand.self, ImportCommand.self, ExportCommand.self,
      QueryCommand.self,
      InspectCommand.self, StatsCommand.self, VerifyCommand.self, RescueCommand.self, BackupCommand.self,
      BackupsCommand.self, RestoreCommand.self,
      CompactCommand.self, EvictCommand.self, EraseCommand.self, ClockCommand.self, PeersCommand.self,
      StatusCommand.self, TopCommand.self,
      WhyCommand.self, RulesCommand.self,
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
      end(with: error.forPeople)
    }
  }
}

extension DunlinCommand {
  /// What the library puts before the message of an error.
  private static let label = "Error:"

  /// Ends the program as the library does; on a terminal the label of an error is red.
  private static func end(with error: any Error) -> Never {
    let message = fullMessage(for: error)
    let code = exitCode(for: error)
    guard !code.isSuccess, Style.errors.isColored, message.hasPrefix(label) else { exit(withError: error) }
    Output.note(Style.errors(.red, label) + message.dropFirst(label.count))
    Foundation.exit(code.rawValue)
  }

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
