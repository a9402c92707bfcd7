import ArgumentParser
import Dispatch

/// The program of all checks that take longer than a test: one subcommand each.
@main
struct Checks: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "checks",
    abstract: "Runs the checks that take longer than a test.",
    discussion: "Tools/NAME/run builds this program and runs the check NAME as CI does.",
    subcommands: [
      CampaignCommand.self, CompareCommand.self, DiscoveryCommand.self, LawsCommand.self,
      SimulateCommand.self,
    ] + linuxCommands)

  /// `hostile` reads Linux's data on process memory; `torture` sits between the store and the system.
  private static var linuxCommands: [any ParsableCommand.Type] {
    #if os(Linux)
      [HostileCommand.self, TortureCommand.self]
    #else
      []
    #endif
  }

  /// Runs a subcommand on the main thread, unless it is asynchronous.
  ///
  /// An asynchronous `main` would run all subcommands on a thread of the pool. But `torture` forks, which is
  /// safe only with a single thread, and the stack of the main thread is the largest.
  static func main() {
    do {
      var command = try parseAsRoot()
      guard command is any AsyncParsableCommand else { return try command.run() }
      Task { await runAsynchronously() }
      dispatchMain()
    } catch {
      exit(withError: error)
    }
  }

  /// Runs an asynchronous command on the pool's threads, and ends the program.
  ///
  /// It parses by itself: a command is not `Sendable`.
  @concurrent private static func runAsynchronously() async -> Never {
    do {
      if var command = try parseAsRoot() as? any AsyncParsableCommand { try await command.run() }
      exit()
    } catch {
      exit(withError: error)
    }
  }
}
