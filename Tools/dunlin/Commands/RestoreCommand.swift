import ArgumentParser
import DocStore
import DunlinControl

struct RestoreCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "restore", abstract: "Make a store of a point of a series of backups.",
    discussion: """
      The store takes another site when it is first opened. It is there whole or not at all. Every checksum is checked, and a \
      file that is damaged, missing or of another series is named.

      Examples:
        dunlin restore store-series store-restored
        dunlin restore store-series store-restored --at 2026-11-30T12:00:00Z
        dunlin restore store-series store-restored --at 4711
      """)

  @Argument(help: "The directory of the series.", completion: .directory)
  var series: String
  @Argument(help: "The new directory: it must not exist, or be empty.", completion: .directory)
  var target: String
  @Option(
    help: ArgumentHelp(
      "The last point that was made at this time or before, or that has no commit after this number.",
      valueName: "time or commit"))
  var at: String?
  @Option(help: ArgumentHelp("The point with this number.", valueName: "number"))
  var point: Int?
  @Flag(help: "Print one JSON object.")
  var json = false

  func validate() throws {
    guard at == nil || point == nil else { throw ValidationError("--at and --point do not go together") }
    guard at.map({ BackupMoment(written: $0) != nil }) ?? true else {
      throw ValidationError("--at takes a time such as 2026-11-30T12:00:00Z, or the number of a commit")
    }
  }

  func run() throws {
    let moment = point.map { BackupMoment.number($0) } ?? at.flatMap { BackupMoment(written: $0) } ?? .newest
    let restored = try LongWork("Restoring").run {
      try Store.restore(fromSeries: series, at: moment, to: target, progress: $0)
    }
    if json {
      return try Output.print(json: restored.values.merging(["target": .string(target)]) { $1 })
    }
    try Output.print(
      "\(target): point \(restored.number) of \(restored.timeText), commit \(restored.sequence)")
  }
}
