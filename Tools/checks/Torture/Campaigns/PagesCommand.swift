import ArgumentParser

/// Damages pages of large stores, closed and open.
struct PagesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pages", abstract: "Flipped bits on pages that are met while a store is used.")

  @OptionGroup var options: CampaignOptions

  @Option(help: "Places to damage, one at a time.")
  var flips = 60

  func run() throws {
    let seed = options.seed
    try CampaignReport.part("pages", replay: "pages --seed \(seed) --flips \(flips)") {
      try Workers.run(options.workers) { worker in
        try PageCampaign(seed: seed &+ UInt64(worker)).run(flips: flips / options.workers)
      }
    }
    try CampaignReport.part("pages, the rule", replay: "pages --seed \(seed)") { try PageRule().run() }
    try CampaignReport.control("pages control, freed pages passed over", expecting: [.wrong]) {
      try PageRule(ignoresFreed: true).run()
    }
    try CampaignReport.control("pages control, pages not looked at", expecting: [.wrong, .crash]) {
      try PageCampaign(seed: seed, trustsPages: true).run(flips: 60)
    }
  }
}
