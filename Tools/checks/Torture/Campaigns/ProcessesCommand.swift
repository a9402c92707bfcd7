import ArgumentParser

/// Lets several users come to one store.
struct ProcessesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "processes", abstract: "Two processes, two openings in one process, and forks.")

  @OptionGroup var options: CampaignOptions

  @Option(help: "Times that a process of several opens the store.")
  var turns = 400

  @Option(help: "Forks of a process that writes.")
  var forks = 40

  func run() throws {
    let seed = options.seed
    try CampaignReport.part(
      "processes that come at once", replay: "processes --seed \(seed) --turns \(turns)"
    ) {
      try TurnCampaign(seed: seed).run(turns: turns)
    }
    try CampaignReport.part("openings in one process", replay: "processes") { try OpeningCheck.run() }
    try CampaignReport.part("forks of a writer", replay: "processes --seed \(seed) --forks \(forks)") {
      try ForkCampaign(seed: seed).run(forks: forks)
    }
    try CampaignReport.control(
      "processes control, the lock removed while it is held",
      expecting: [.lost, .torn, .unreadable, .answer, .crash]
    ) {
      try TurnCampaign(seed: seed, removesLock: true).run(turns: turns)
    }
  }
}
