package import Failpoints
import Foundation

/// Runs scripts, each in a world and a directory of its own.
package struct Simulation {
  /// What a run came to.
  package struct Outcome: Sendable {
    package let violation: Violation?
    package let trace: String
    package let tally: Tally
    /// The names of what was reached: coverage points of the layers, and what sometimes happens in a world.
    package let reached: Set<String>
    #if DEBUG || SIMULATION
      /// The first check that fired, where that does not end the process.
      package var fired: FiredCheck?
    #endif
  }

  /// What happens in a run when a check fires.
  package enum Firing: Sendable {
    /// The process ends, with rule, phase and seed on standard error.
    case endsProcess
    /// The run breaks a promise.
    case breaksRun
    /// Nothing: the run is held to its promises alone.
    case isIgnored
  }

  /// Where stores are made: in memory, where there is such a place.
  package let directory: String
  /// Whether a narrator hears of every frame, too.
  package var tellsFrames = false
  /// Whether what peers keep to themselves has other contents.
  package var hasOtherSecrets = false
  /// What happens when a check fires; `nil`: it ends the process, and breaks a run with planted defects.
  package var firing: Firing?

  package init() {
    let place = FileManager.default.fileExists(atPath: "/dev/shm") ? "/dev/shm" : NSTemporaryDirectory()
    directory =
      "\(place)/dunlin-sim-\(ProcessInfo.processInfo.processIdentifier)-\(UInt32.random(in: 0 ... .max))"
  }

  /// Plays a script to its end or to its first violation.
  package func run(
    _ script: Script, defects: [any Failpoint] = [], narrator: ((String) -> Void)? = nil
  ) -> Outcome {
    defer { try? FileManager.default.removeItem(atPath: directory) }
    #if DEBUG || SIMULATION
      let firing = firing ?? (defects.isEmpty ? .endsProcess : .breaksRun)
      let plan = FailpointPlan(
        planting: defects, seed: script.seed, firing: firing == .endsProcess ? .endsProcess : .isRecorded)
      return plan.run {
        let fired = firing == .breaksRun ? { plan.fired.map { Violation($0) } } : { nil }
        var outcome = play(script, narrator, fired: fired) {
          Report.coveragePoints.filter { plan.count(of: $0) > 0 }.map(\.name)
        }
        outcome.fired = plan.fired
        return outcome
      }
    #else
      return play(script, narrator, fired: { nil }) { [] }
    #endif
  }

  private func play(
    _ script: Script, _ narrator: ((String) -> Void)?, fired: @escaping () -> Violation?,
    reached: () -> [String]
  ) -> Outcome {
    var violation: Violation?
    var world: World?
    do {
      try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
      let made = try World(script, directory: directory)
      made.narrator = narrator
      made.tellsFrames = tellsFrames
      made.hasOtherSecrets = hasOtherSecrets
      made.firedCheck = fired
      world = made
      try made.run()
    } catch let found as Violation {
      violation = found
    } catch {
      violation = Violation(.errors, "\(error)")
    }
    // What else is broken follows from it.
    if let found = fired() { violation = found }
    return Outcome(
      violation: violation, trace: world?.trace.text ?? "", tally: world?.tally ?? Tally(),
      reached: Set(reached() + (world?.reached ?? []).map(\.rawValue)))
  }
}
