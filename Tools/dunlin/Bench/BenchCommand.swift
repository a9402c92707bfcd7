import ArgumentParser
import CRDTCore
import Foundation

struct BenchCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bench",
    abstract: "Measure replication between two peers here, and the two limits of a document's size.",
    discussion: """
      Two peers of this process sync over TCP on this machine, with stores in a temporary folder that is removed. It takes \
      some seconds. The status is 1 when a document above a limit is not treated as it should be.

      Examples:
        dunlin bench
        dunlin bench --documents 50000 --json
      """)

  @Option(help: "How many documents are replicated.")
  var documents = 5_000
  @Flag(help: "Print one JSON object.")
  var json = false

  func validate() throws {
    guard 1...1_000_000 ~= documents else {
      throw ValidationError("--documents is a number from 1 to 1000000")
    }
  }

  func run() async throws {
    let workspace = try Workspace(purpose: "bench")
    let interruption = Interruption { workspace.remove() }
    defer { interruption.cancel() }
    let result: BenchResult
    do {
      defer { workspace.remove() }
      result = try await Bench(folder: workspace.path, documentCount: documents).run { step in
        if !json { Output.note(step) }
      }
    } catch {
      await interruption.yieldToCleanUp()
      throw error
    }
    await interruption.yieldToCleanUp()
    if json { try Output.print(json: result.values) } else { try Output.print(result.text(Style.output)) }
    if !result.isAsExpected { throw ExitCode(ExitStatus.failed) }
  }
}
