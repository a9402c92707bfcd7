import ArgumentParser

/// Ends writers at random moments and looks what they left.
struct KillCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "kill", abstract: "kill -9 of a writing process at random moments.")

  @OptionGroup var options: CampaignOptions

  @Option(help: "Writers to end.")
  var cycles = 2_000

  @Option(help: "Creations to cut short.")
  var creations = 400

  func run() throws {
    let seed = options.seed
    try CampaignReport.part("kill writers", replay: "kill --seed \(seed) --cycles \(cycles)") {
      try Workers.run(options.workers) { worker in
        try KillCampaign(seed: seed &+ UInt64(worker)).run(cycles: share(of: cycles, worker))
      }
    }
    try CampaignReport.part("kill creations", replay: "kill --seed \(seed) --creations \(creations)") {
      try Workers.run(options.workers) { worker in
        try CreationCampaign(seed: seed &+ UInt64(worker)).run(cycles: share(of: creations, worker))
      }
    }
    try CampaignReport.control("kill control, acknowledging before the commit", expecting: [.lost]) {
      try KillCampaign(seed: seed, defect: .earlyAcknowledgement).run(cycles: 1_000)
    }
    try CampaignReport.control("kill control, a transaction in several commits", expecting: [.torn]) {
      try KillCampaign(seed: seed, defect: .split).run(cycles: 1_000)
    }
  }

  private func share(of count: Int, _ worker: Int) -> Int {
    count / options.workers + (worker < count % options.workers ? 1 : 0)
  }
}
