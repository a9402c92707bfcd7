import ArgumentParser
import BenchmarkSupport
import Foundation

/// Counts the instructions of fixed work, which shows a change of a few percent on any machine, however busy.
@main
struct Instructions: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "instructions",
    abstract: "Count the instructions of hot paths by callgrind, and compare them with those recorded.",
    subcommands: [CheckCommand.self, WorkCommand.self], defaultSubcommand: CheckCommand.self)
}

/// Does one piece of work so many times; callgrind runs this.
struct WorkCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "work", abstract: "Do a piece of work so many times.")

  @Argument(help: "Which: \(Workload.all.map(\.name).joined(separator: ", ")).")
  var name: String
  @Option(help: "How often.")
  var times = 1

  func run() throws {
    guard let workload = Workload.all.first(where: { $0.name == name }) else {
      throw ValidationError("there is no work \(name)")
    }
    let place = FileManager.default.fileExists(atPath: "/dev/shm") ? "/dev/shm" : NSTemporaryDirectory()
    try Scratch.with(in: place) { try workload.run(times, in: $0) }
  }
}

/// Counts all, and compares or records.
struct CheckCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check", abstract: "Count, and compare with what was recorded.")

  @Argument(help: "Which work; all when none is named.")
  var names: [String] = []
  @Option(help: "The file with what was recorded.")
  var recorded = "Benchmarks/Instructions/recorded.json"
  @Option(help: "Percent by which a count may be above what was recorded.")
  var tolerance = 2.0
  @Flag(help: "Record what is counted now.")
  var record = false

  func validate() throws {
    for name in names where !Workload.all.contains(where: { $0.name == name }) {
      throw ValidationError("there is no work \(name)")
    }
    guard tolerance >= 0 else { throw ValidationError("--tolerance must not be negative") }
    guard !record || names.isEmpty else { throw ValidationError("--record counts all work, so name none") }
  }

  func run() throws {
    let before = record ? nil : try Recording.read(recorded)
    if let before, before.build != Recording.currentBuild {
      throw BenchmarkError(
        "\(recorded) is of \(before.build), and this is \(Recording.currentBuild); counts of another compiler "
          + "or processor are not comparable: record those of the last version that was good, with --record")
    }
    var now = Recording(build: Recording.currentBuild)
    var slower: [String] = []
    for workload in Workload.all where names.isEmpty || names.contains(workload.name) {
      let count = try Callgrind.instructions(of: workload)
      now.counts[workload.name] = count
      let name = workload.name.padding(toLength: 14, withPad: " ", startingAt: 0)
      guard let old = before?.counts[workload.name] else {
        print("\(name) \(Int(count).grouped) instructions a \(workload.unit)")
        continue
      }
      let change = (count / old - 1) * 100
      if change > tolerance { slower.append(workload.name) }
      print(
        "\(name) \(Int(count).grouped) instructions a \(workload.unit), \(Int(old).grouped) before: "
          + String(format: "%+.1f %%", change))
    }
    if record { try now.write(recorded) }
    guard slower.isEmpty else {
      print("More than \(tolerance) % above what was recorded: \(slower.joined(separator: ", "))")
      throw ExitCode.failure
    }
  }
}
