import ArgumentParser

/// Replays what a disk may hold after a power failure.
struct PowerCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "power", abstract: "Legal states of the disk after a power failure at any moment.")

  @OptionGroup var options: CampaignOptions

  @Option(help: "States to open.")
  var states = 5_000

  func run() throws {
    let seed = options.seed
    try CampaignReport.part("power loss", replay: "power --seed \(seed) --states \(states)") {
      try Workers.run(options.workers) { worker in
        try PowerCampaign(seed: seed &+ UInt64(worker)).run(states: states / options.workers)
      }
    }
    try CampaignReport.control(
      "power control, syncs passed over", expecting: [.lost, .torn, .wrong, .unreadable, .crash]
    ) {
      try PowerCampaign(seed: seed, ignoresSyncs: true).run(states: 400)
    }
    try CampaignReport.control("power control, a recorder that misses gathered writes", expecting: [.harness])
    {
      try PowerCampaign(seed: seed, missesGatheredWrites: true).run(states: 400)
    }
  }
}
