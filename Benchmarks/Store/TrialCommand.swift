import ArgumentParser
import BenchmarkSupport
import Foundation

/// The process of one trial: reads what to do from its argument and prints what it found.
struct TrialCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "trial", shouldDisplay: false)

  @Argument var description: String

  func run() async throws {
    let trial = try JSONDecoder().decode(Trial.self, from: Data(description.utf8))
    let result =
      switch trial.contender {
      case .lmdb: try await run(trial, RawLMDBContender.self)
      case .sqlite: try await run(trial, SQLiteContender.self)
      case .dunlin: try await run(trial, DunlinContender.self)
      }
    try result.print()
  }

  private func run<C: Contender>(_ trial: Trial, _ type: C.Type) async throws -> TrialResult {
    var runner = TrialRunner(trial, type)
    return try await runner.run()
  }
}
