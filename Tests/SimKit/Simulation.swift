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
  }

  /// Where stores are made: in memory, where there is such a place.
  package let directory: String
  /// Whether a narrator hears of every frame, too.
  package var tellsFrames = false
  /// Whether what peers keep to themselves has other contents.
  package var hasOtherSecrets = false

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
      let plan = FailpointPlan(planting: defects)
      return plan.run {
        play(script, narrator) { Report.coveragePoints.filter { plan.count(of: $0) > 0 }.map(\.name) }
      }
    #else
      return play(script, narrator) { [] }
    #endif
  }

  private func play(
    _ script: Script, _ narrator: ((String) -> Void)?, reached: () -> [String]
  ) -> Outcome {
    var violation: Violation?
    var world: World?
    do {
      try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
      let made = try World(script, directory: directory)
      made.narrator = narrator
      made.tellsFrames = tellsFrames
      made.hasOtherSecrets = hasOtherSecrets
      world = made
      try made.run()
    } catch let found as Violation {
      violation = found
    } catch {
      violation = Violation(.errors, "\(error)")
    }
    return Outcome(
      violation: violation, trace: world?.trace.text ?? "", tally: world?.tally ?? Tally(),
      reached: Set(reached() + (world?.reached ?? []).map(\.rawValue)))
  }
}
