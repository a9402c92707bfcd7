import ArgumentParser
import Foundation
import PeerControl

/// Lets real peers sync over failing lines, kills and copies them, and checks that they keep promises.
struct CampaignCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "campaign",
    abstract: "Lets real peers sync over failing lines, kills and copies them, and reckons up in the end.")

  @Option(help: "The path of `dunlin`.")
  var dunlin: String
  @Option(help: "Chooses what happens; each run adds one to it.")
  var seed: UInt64 = 1
  @Option(help: "How many runs.")
  var runs = 10
  @Option(help: "Peers at the beginning, 3 to 10; copies come to them.")
  var peers = 5
  @Option(help: "Seconds of trouble in each run.")
  var seconds = 6.0
  @Flag(help: "In place of all that: one large transaction over a line that never lasts for it.")
  var interrupted = false
  @Option(help: ArgumentHelp("Breaks something: flip (bits on the way) or lose (an old copy of a store)."))
  var plant: String?

  func validate() throws {
    guard (3...10).contains(peers) else { throw ValidationError("--peers: 3 to 10") }
    guard plant == nil || PeerCampaign.Plant(rawValue: plant ?? "") != nil else {
      throw ValidationError("--plant: flip or lose")
    }
  }

  func run() async throws {
    signal(SIGPIPE, SIG_IGN)
    let parent = FileManager.default.fileExists(atPath: "/dev/shm") ? "/dev/shm" : NSTemporaryDirectory()
    let scratch = URL(filePath: parent).appendingPathComponent(
      "campaign-\(ProcessInfo.processInfo.processIdentifier)")
    defer { try? FileManager.default.removeItem(at: scratch) }
    if interrupted {
      try FileManager.default.createDirectory(at: scratch, withIntermediateDirectories: true)
      return print(try await Interruption(directory: scratch, program: dunlin).run())
    }
    var tally: [String: Int] = [:]
    var acknowledged = 0
    var failed: [UInt64] = []
    for seed in seed..<seed + UInt64(max(0, runs)) {
      let directory = scratch.appendingPathComponent("\(seed)")
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
      let campaign = PeerCampaign(
        seed: seed, peers: peers, directory: directory, program: dunlin,
        plant: plant.flatMap { PeerCampaign.Plant(rawValue: $0) })
      try await campaign.run(for: seconds)
      try? FileManager.default.removeItem(at: directory)
      tally.merge(campaign.tally) { $0 + $1 }
      acknowledged += campaign.acknowledged
      if !campaign.faults.isEmpty { failed.append(seed) }
      for fault in campaign.faults.prefix(12) { print("seed \(seed): \(fault)") }
    }
    let happened = tally.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
    print("\(runs) runs, \(acknowledged) acknowledged writes; \(happened); failed: \(failed)")
    try judge(failed, tally)
  }

  /// A run must pass, and a planted loss must not.
  private func judge(_ failed: [UInt64], _ tally: [String: Int]) throws {
    switch plant.flatMap({ PeerCampaign.Plant(rawValue: $0) }) {
    case .lose:
      guard failed.count == runs else { throw PeerError("a planted loss was not found") }
    case .flip:
      guard failed.isEmpty else { throw PeerError("failed: seeds \(failed)") }
      guard tally["flips", default: 0] == 0 || tally["noticed", default: 0] > 0 else {
        throw PeerError("changed bits were not noticed")
      }
    case nil:
      guard failed.isEmpty else { throw PeerError("failed: seeds \(failed)") }
    }
  }
}
