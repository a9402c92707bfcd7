import ArgumentParser

/// Makes every write, sync, truncation, rename and open fail in turn.
struct FaultsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "faults", abstract: "Every n-th write, sync and truncation fails, once and for ever.")

  @OptionGroup var options: CampaignOptions

  @Option(help: "Transactions in the script.")
  var transactions = 40

  func run() throws {
    let seed = options.seed
    try CampaignReport.part("I/O faults", replay: "faults --seed \(seed) --transactions \(transactions)") {
      try Workers.run(options.workers) { worker in
        try FaultCampaign(seed: seed, transactions: transactions).run(worker: worker, of: options.workers)
      }
    }
    try CampaignReport.control(
      "faults control, a store that goes on after a failed sync", expecting: [.answer]
    ) {
      try FaultCampaign(seed: seed, transactions: transactions, poisons: false).run(worker: 0, of: 1)
    }
  }
}
