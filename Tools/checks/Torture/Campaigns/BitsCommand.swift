import ArgumentParser

/// Damages stores' files.
struct BitsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bits", abstract: "Flipped bits, swapped pages and pages from the past.")

  @OptionGroup var options: CampaignOptions

  @Option(help: "Places to damage, one at a time.")
  var flips = 2_000

  func run() throws {
    let seed = options.seed
    try CampaignReport.part("damage", replay: "bits --seed \(seed) --flips \(flips)") {
      try Workers.run(options.workers) { worker in
        try BitCampaign(seed: seed &+ UInt64(worker)).run(flips: flips / options.workers)
      }
    }
    try CampaignReport.control("damage control, records read without their checks", expecting: [.wrong]) {
      try BitCampaign(seed: seed, verifies: false).run(flips: 200)
    }
  }
}
