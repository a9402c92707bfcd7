import ArgumentParser
import CRDTCore
import Foundation
import SimKit

/// Plays seeds of the deterministic simulation, and makes failures short.
@main
struct SimulateCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "simulate", abstract: "Simulates peers, links and faults under seeds.")

  @Option(help: "The first seed.")
  var seed: UInt64 = 1

  @Option(help: "How many seeds.")
  var count: UInt64 = 1

  @Option(help: "How much happens in each, in percent of the usual.")
  var size = 100

  @Option(help: "Ends after this many seconds, however many seeds are left.")
  var seconds: Double?

  @Option(help: "Plants this defect.")
  var defect: String?

  @Flag(help: "Plants every defect, one after the other, and fails when one is not found.")
  var defects = false

  @Flag(help: "Fails when a point was not reached that many seeds together must reach.")
  var points = false

  @Option(help: "Has all peers offer these optional abilities, too: a number whose bits they are.")
  var offer: UInt64 = 0

  @Option(help: "Plays the script in this file.")
  var replay: String?

  @Flag(help: "Makes the first failure short, and prints it as a script.")
  var shrink = false

  @Flag(help: "Tells what happens.")
  var tell = false

  @Flag(help: "Tells every frame, too.")
  var frames = false

  @Flag(help: "Prints the hash of each run.")
  var trace = false

  @Flag(help: "Goes on after failures.")
  var all = false

  func validate() throws {
    if let defect, Probe.Defect(rawValue: defect) == nil {
      let known = Probe.Defect.allCases.map(\.rawValue).joined(separator: ", ")
      throw ValidationError("There is no defect \(defect); there are \(known)")
    }
  }

  mutating func run() throws {
    if defects { return try findDefects() }
    let scripts: AnySequence<Script>
    if let replay {
      scripts = AnySequence([try Script(json: try Data(contentsOf: URL(fileURLWithPath: replay)))])
    } else {
      let size = size
      scripts = AnySequence((seed..<seed + count).lazy.map { Swarm.script(seed: $0, size: size) })
    }
    var report = Report()
    for var script in scripts {
      for number in script.peers.indices where offer > 0 { script.peers[number].offeredFeatures = offer }
      if let seconds, report.seconds > seconds { break }
      let outcome = play(script)
      report.add(outcome)
      if trace { print("seed \(script.seed): \(outcome.trace)") }
      guard let violation = outcome.violation else { continue }
      print("seed \(script.seed): \(violation)")
      fflush(nil)
      if shrink { shrinkAndPrint(script, violation) }
      if !all { break }
    }
    print(report.line)
    let missed = report.missed
    if points, !missed.isEmpty { print("not reached: \(missed.joined(separator: ", "))") }
    if report.violations > 0 || points && !missed.isEmpty { throw ExitCode.failure }
  }

  /// Plants each defect in seeds that keep every promise without it.
  private func findDefects() throws {
    let all = Probe.Defect.allCases.filter { !DefectSearch.excluded.contains($0) }
    var found = 0
    for defect in all {
      let start = Date()
      guard let finding = DefectSearch(defect).find(limit: max(count, 400), size: size) else {
        print("\(defect.rawValue): not found")
        continue
      }
      found += 1
      let time = Int(Date().timeIntervalSince(start) * 10)
      print(
        "\(defect.rawValue): seed \(finding.seed), \(finding.violation.invariant), \(time) tenths of a second"
      )
      fflush(nil)
    }
    print("defects \(found)/\(all.count)")
    if found < all.count { throw ExitCode.failure }
  }

  private func play(_ script: Script, isTold: Bool? = nil) -> Simulation.Outcome {
    let defects = Set([defect.flatMap { Probe.Defect(rawValue: $0) }].compactMap { $0 })
    var simulation = Simulation()
    simulation.tellsFrames = frames
    return simulation.run(
      script, defects: defects, narrator: isTold ?? (tell || frames) ? { print($0) } : nil)
  }

  private func shrinkAndPrint(_ script: Script, _ violation: Violation) {
    let end = Date().addingTimeInterval(120)
    var shrinker = Shrinker(script, breaking: violation.invariant, until: { Date() > end }) {
      play($0, isTold: false).violation
    }
    shrinker.shrink()
    let short = shrinker.script
    print("\(script.events.count) events, \(short.events.count) after \(shrinker.attempts) attempts")
    _ = play(short, isTold: true)
    if let outcome = play(short, isTold: false).violation { print(outcome) }
    if let json = try? short.json() { print(String(decoding: json, as: UTF8.self)) }
  }
}
