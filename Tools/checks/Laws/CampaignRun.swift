import CRDTModel
import Dispatch
import Foundation
import Synchronization

/// One campaign on several threads, which take its cases in turn.
struct CampaignRun {
  private static let stretch: UInt64 = 64

  private let campaign: Campaign
  private let cases: UInt64
  private let threads: Int

  struct Result {
    let line: String
    let isGood: Bool
    /// The seed of a failure that must not be.
    let unexpected: UInt64?
  }

  private struct Tally {
    var count = 0
    var failures: UInt64 = 0
    var firstFailure: UInt64?
  }

  init(_ campaign: Campaign, factor: Double, threads: Int) {
    self.campaign = campaign
    cases = max(UInt64(Double(campaign.cases) * factor), 1)
    self.threads = threads
  }

  func result() -> Result {
    let clock = ContinuousClock()
    let start = clock.now
    let next = Atomic<UInt64>(0)
    let total = Mutex(Tally())
    DispatchQueue.concurrentPerform(iterations: threads) { _ in
      var tally = Tally()
      while true {
        let first = next.add(Self.stretch, ordering: .relaxed).oldValue
        guard first < cases else { break }
        for seed in first..<min(first + Self.stretch, cases) { run(seed, &tally) }
        // One failure of a claim is enough.
        if !campaign.isControl, tally.failures > 0 { next.store(cases, ordering: .relaxed) }
      }
      total.withLock { total in
        total.count += tally.count
        total.failures += tally.failures
        total.firstFailure = [total.firstFailure, tally.firstFailure].compactMap { $0 }.min()
      }
    }
    let tally = total.withLock { $0 }
    let seconds = clock.now - start
    // A control is sized for a short run: fewer cases fail fewer times.
    let expected = min(campaign.expectedFailures, cases * campaign.expectedFailures / campaign.cases)
    let isGood =
      campaign.isControl
      ? tally.failures >= max(expected, cases < campaign.cases ? 0 : 1) : tally.failures == 0
    return Result(
      line: line(tally, seconds, isGood), isGood: isGood,
      unexpected: campaign.isControl ? nil : tally.firstFailure)
  }

  private func run(_ seed: UInt64, _ tally: inout Tally) {
    do {
      tally.count += try campaign.run(seed)
    } catch {
      tally.count += 1
      tally.failures += 1
      tally.firstFailure = tally.firstFailure ?? seed
    }
  }

  private func line(_ tally: Tally, _ seconds: Duration, _ isGood: Bool) -> String {
    let verdict =
      campaign.isControl
      ? "\(tally.failures) fail, as a control must" : "\(tally.failures) fail"
    let time = String(
      format: "%6.1f s", Double(seconds.components.seconds) + Double(seconds.components.attoseconds) * 1e-18)
    let name = (campaign.isControl ? "control: " : "") + campaign.name
    return "\(isGood ? "ok  " : "BAD ") \(time)  \(tally.count) cases  \(name): \(verdict)"
  }
}
