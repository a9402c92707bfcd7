import ArgumentParser
import Failpoints
import Foundation
import SimKit

/// Plays seeds of the deterministic simulation, and makes failures short.
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

  @Flag(help: "Plants every defect, or only the one of --defect, and fails when it is not found.")
  var defects = false

  @Flag(
    help: "Plays each seed twice, with other contents in what peers keep to themselves: nobody may notice.")
  var pairs = false

  @Option(help: "The folder of scripts that show defects, named after them: they are played before seeds.")
  var scripts = "Tests/SimulationTests/Seeds/defects"

  @Option(help: "Of all defects only the even or the odd ones: 0 or 1.")
  var half: Int?

  @Option(parsing: .upToNextOption, help: "Seeds that break a promise, as is known; they count as such.")
  var known: [UInt64] = []

  @Option(help: "Writes what the seeds came to into this file.")
  var report: String?

  @Option(parsing: .upToNextOption, help: "Plays nothing, and adds up the reports in these files.")
  var sum: [String] = []

  @Flag(help: "Fails when a point was not reached that many seeds together must reach.")
  var points = false

  @Option(help: "Plays the script in this file, or all in this folder.")
  var replay: String?

  @Flag(help: "Makes the first failure short, and prints it as a script.")
  var shrink = false

  @Flag(help: "Tells what happens.")
  var tell = false

  @Flag(help: "Tells every frame, too.")
  var frames = false

  @Flag(help: "Prints the hash of each run.")
  var trace = false

  @Flag(help: "Goes on when a check fires: runs are held to their promises alone.")
  var unchecked = false

  @Flag(help: "Goes on after failures.")
  var all = false

  func validate() throws {
    if let defect, DefectSearch.defect(named: defect) == nil {
      let known = DefectSearch.defects.map(\.name).joined(separator: ", ")
      throw ValidationError("There is no defect \(defect); there are \(known)")
    }
  }

  mutating func run() throws {
    if defects { return try findDefects() }
    if !sum.isEmpty { return try addUp() }
    if pairs { return try playPairs() }
    let played: AnySequence<Script>
    if let replay {
      played = AnySequence(try replayed(from: replay))
    } else {
      let size = size
      played = AnySequence((seed..<seed + count).lazy.map { Swarm.script(seed: $0, size: size) })
    }
    var total = Report()
    for script in played {
      if let seconds, total.seconds > seconds { break }
      let start = Date()
      let outcome = play(script)
      let isKnown = replay == nil && known.contains(script.seed)
      total.add(outcome, isKnown: isKnown, seconds: Date().timeIntervalSince(start))
      if trace { print("seed \(script.seed): \(outcome.trace)") }
      if isKnown, outcome.violation == nil { print("seed \(script.seed) holds, and is listed as known") }
      guard let violation = outcome.violation else { continue }
      print("seed \(script.seed): \(isKnown ? "known, " : "")\(violation)")
      fflush(nil)
      if isKnown { continue }
      if shrink { shrinkAndPrint(script, violation) }
      if !all { break }
    }
    if let report {
      try JSONEncoder().encode(total).write(to: URL(fileURLWithPath: report))
    }
    try conclude(total)
  }

  /// The script in a file, or all that a folder has.
  private func replayed(from place: String) throws -> [Script] {
    var isFolder: ObjCBool = false
    let url = URL(fileURLWithPath: place)
    guard FileManager.default.fileExists(atPath: place, isDirectory: &isFolder), isFolder.boolValue else {
      return [try Script(json: try Data(contentsOf: url))]
    }
    let files = try FileManager.default.contentsOfDirectory(at: url, includingPropertiesForKeys: nil)
    return try files.filter { $0.pathExtension == "json" }.sorted { $0.path < $1.path }.map {
      try Script(json: try Data(contentsOf: $0))
    }
  }

  private func addUp() throws {
    var total = Report()
    for file in sum {
      total.add(
        try JSONDecoder().decode(Report.self, from: try Data(contentsOf: URL(fileURLWithPath: file))))
    }
    try conclude(total)
  }

  private func playPairs() throws {
    var violations = 0
    let defects = planted
    for seed in seed..<seed + count {
      guard let violation = PairedRun().violation(seed: seed, size: size, defects: defects) else { continue }
      let isKnown = known.contains(seed)
      if !isKnown { violations += 1 }
      print("pair of seed \(seed): \(isKnown ? "known, " : "")\(violation)")
      fflush(nil)
      if shrink { shrinkAndPrint(Swarm.script(seed: seed, size: size, hasSecrets: true), violation) }
    }
    print("pairs \(count), violations \(violations)")
    if violations > 0 { throw ExitCode.failure }
  }

  private func conclude(_ total: Report) throws {
    print(total.line)
    let missed = total.missed
    if points, !missed.isEmpty { print("not reached: \(missed.joined(separator: ", "))") }
    if total.violations > 0 || points && !missed.isEmpty { throw ExitCode.failure }
  }

  /// Plants each defect in its script, or in seeds that keep every promise without it.
  private func findDefects() throws {
    var all =
      defect == nil ? DefectSearch.defects.filter { !DefectSearch.unfound.contains($0.name) } : planted
    if let half { all = all.enumerated().filter { $0.offset % 2 == half }.map(\.element) }
    var found = 0
    var search = DefectSearch(size: size, scripts: try keptScripts())
    for defect in all {
      let start = Date()
      guard let finding = search.find(defect, limit: count) else {
        print("\(defect.name): not found")
        fflush(nil)
        continue
      }
      found += 1
      let seconds = String(format: "%.1f", Date().timeIntervalSince(start))
      let place = "seed \(finding.script.seed), \(finding.script.events.count) events"
      print("\(defect.name): \(place), \(finding.violation.name), \(seconds) s")
      fflush(nil)
      if shrink { shrinkAndPrint(finding.script, finding.violation, defects: [defect]) }
    }
    print("defects \(found)/\(all.count)")
    if found < all.count { throw ExitCode.failure }
  }

  private func keptScripts() throws -> [String: Script] {
    let folder = URL(fileURLWithPath: scripts)
    guard FileManager.default.fileExists(atPath: folder.path) else {
      throw ValidationError("There is no folder \(scripts)")
    }
    return Dictionary(
      uniqueKeysWithValues: try DefectSearch.defects.compactMap { defect in
        let file = folder.appendingPathComponent("\(defect.name).json")
        guard FileManager.default.fileExists(atPath: file.path) else { return nil }
        return (defect.name, try Script(json: try Data(contentsOf: file)))
      })
  }

  private var planted: [any Failpoint] {
    [defect.flatMap { DefectSearch.defect(named: $0) }].compactMap(\.self)
  }

  private func play(
    _ script: Script, isTold: Bool? = nil, defects: [any Failpoint]? = nil
  ) -> Simulation.Outcome {
    var simulation = Simulation()
    simulation.tellsFrames = frames
    if unchecked { simulation.firing = .isIgnored }
    return simulation.run(
      script, defects: defects ?? planted, narrator: isTold ?? (tell || frames) ? { print($0) } : nil)
  }

  /// Makes a script short that breaks a promise with what is planted.
  private func shrinkAndPrint(
    _ script: Script, _ violation: Violation, defects: [any Failpoint]? = nil
  ) {
    let end = Date().addingTimeInterval(120)
    var shrinker = Shrinker(script, breaking: violation, until: { Date() > end }) {
      play($0, isTold: false, defects: defects).violation
    }
    shrinker.shrink()
    let short = shrinker.script
    print("\(script.events.count) events, \(short.events.count) after \(shrinker.attempts) attempts")
    _ = play(short, isTold: true, defects: defects)
    if let outcome = play(short, isTold: false, defects: defects).violation { print(outcome) }
    if let json = try? short.json() { print(String(decoding: json, as: UTF8.self)) }
  }
}
