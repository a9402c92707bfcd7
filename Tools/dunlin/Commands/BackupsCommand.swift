import ArgumentParser
import CRDTCore
import DocStore
import DunlinControl

struct BackupsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "backups", abstract: "List, check or prune the points of a series of backups.",
    discussion: """
      A restore to a moment takes the last point up to it. --check reads every file and names the first one that is damaged or \
      missing. --prune-before removes what no restore to that time or a later one needs: all before the newest base up to it.

      Examples:
        dunlin backups store-series
        dunlin backups store-series --check
        dunlin backups store-series --prune-before 2026-11-01T00:00:00Z
      """)

  @Argument(help: "The directory of the series.", completion: .directory)
  var series: String
  @Flag(help: "Read every file whole, and check all checksums.")
  var check = false
  @Option(help: ArgumentHelp("Remove points that only restores to earlier moments need.", valueName: "time"))
  var pruneBefore: String?
  @Flag(help: "Print each point as a line of JSON.")
  var json = false

  func validate() throws {
    guard pruneBefore.map({ BackupMoment.milliseconds($0) != nil }) ?? true else {
      throw ValidationError("--prune-before takes a time such as 2026-11-30T12:00:00Z")
    }
    guard !check || pruneBefore == nil else {
      throw ValidationError("--check and --prune-before do not go together")
    }
  }

  func run() throws {
    do { try work() } catch let error as StoreError where error.code == .corrupt {
      Output.note("Error: \(error)")
      throw ExitCode(ExitStatus.damaged)
    }
  }

  private func work() throws {
    if let time = pruneBefore.flatMap({ BackupMoment.milliseconds($0) }) {
      let removed = try Store.pruneBackups(inSeries: series, before: time)
      guard !json else { return try show(removed) }
      return try Output.print("\(series): \(removed.count.counting("point")) removed")
    }
    guard check else { return try show(try Store.backups(inSeries: series)) }
    let points = try LongWork("Checking").run { try Store.verifyBackups(inSeries: series, progress: $0) }
    guard !json else { return try show(points) }
    try Output.print("\(series): \(points.count.counting("point")), all intact")
  }

  private func show(_ points: [BackupPoint]) throws {
    for point in points {
      guard !json else {
        try Output.print(json: point.values)
        continue
      }
      let kind = point.isBase ? "base     " : "increment"
      try Output.print(
        "\(point.number)  \(kind)  \(point.timeText)  commit \(point.sequence)  \(point.fileBytes.counting("byte"))"
      )
    }
  }
}
