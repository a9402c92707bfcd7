import ArgumentParser
import CRDTModel
import Foundation

/// Proves the laws of merging by many random and some exhaustive cases.
struct LawsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "laws", abstract: "Proves the laws of merging by many random and some exhaustive cases.")

  @Argument(help: "How many times the cases of a short run.")
  var factor: Double = 1

  @Option(help: "Runs one case of each campaign: the one with this seed.")
  var seed: UInt64?

  @Option(help: "Runs only the campaigns whose name contains this.")
  var only: String?

  @Option(help: "Threads; as many as there are processors unless told.")
  var threads: Int = ProcessInfo.processInfo.activeProcessorCount

  @Option(help: "Writes the table of outcomes into this file, which is Documentation/Merging.md, and ends.")
  var writeTable: String?

  func validate() throws {
    guard factor > 0, threads > 0 else {
      throw ValidationError("a factor or number of threads is not positive")
    }
  }

  mutating func run() throws {
    if let writeTable {
      let page = try String(contentsOfFile: writeTable, encoding: .utf8)
      return try MergeTable.replacing(in: page).write(toFile: writeTable, atomically: true, encoding: .utf8)
    }
    let campaigns = Campaign.all.filter { only.map($0.name.contains) ?? true }
    guard !campaigns.isEmpty else { throw ValidationError("no campaign has such a name") }
    var isGood = true
    for campaign in campaigns {
      if let seed {
        isGood = replay(campaign, seed) && isGood
      } else {
        let result = CampaignRun(campaign, factor: factor, threads: threads).result()
        print(result.line)
        // Into a file or a pipe too, line by line.
        fflush(nil)
        if let seed = result.unexpected { isGood = replay(campaign, seed) && isGood }
        isGood = result.isGood && isGood
      }
    }
    if !isGood { throw ExitCode.failure }
  }

  /// Runs one case and tells how it fails, in as few steps as can be.
  private func replay(_ campaign: Campaign, _ seed: UInt64) -> Bool {
    do {
      _ = try campaign.run(seed)
      print("\(campaign.name): seed \(seed) holds")
      return true
    } catch {
      print("\(campaign.name): seed \(seed) fails: \(error)")
    }
    if let shrunk = campaign.shrink(seed) {
      for step in shrunk.steps { print("  \(step)") }
      print("  then: \(shrunk.failure)")
    }
    return campaign.isControl
  }
}
