import ArgumentParser
import CRDTCore
import DocStore
import DunlinControl

struct BackupCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup", abstract: "Copy a store into a new directory, or add its state to a series.",
    discussion: """
      The copy is a store of its own: it takes another site when it is first opened, so both can go on. It is there \
      whole or not at all. A peer may have the store open, and goes on.

      With --series the directory gets a file with the pages that differ from the last point there; the first file, and one \
      with --base, has all of them. 'dunlin backups' lists the points, and 'dunlin restore' makes a store of one.

      Examples:
        dunlin backup store store-backup
        dunlin backup --series store store-series
      """)

  @Argument(help: "The store's directory.", completion: .directory)
  var store: String
  @Argument(
    help: "The new directory: it must not exist, or be empty; with --series that of the series.",
    completion: .directory)
  var target: String
  @Flag(help: "Add a point to the series in the directory.")
  var series = false
  @Flag(help: "Begin with a new base, so that older points can be pruned; with --series alone.")
  var base = false
  @Flag(help: "Print one JSON object.")
  var json = false

  func validate() throws {
    guard series || !base else { throw ValidationError("--base is for --series") }
  }

  func run() throws {
    let access = try StoreAccess.open(store)
    defer { access.close() }
    guard series else { return try copy(access) }
    let point = try LongWork("Comparing").run { try access.addBackup(to: target, asBase: base, progress: $0) }
    if json { return try Output.print(json: point) }
    let kind = point["isBase"] == .bool(true) ? "base" : "increment"
    let pages = (point.integer("pages") ?? 0).counting("page")
    try Output.print("\(target): point \(point.integer("point") ?? 0), \(kind), \(pages)")
  }

  private func copy(_ access: StoreAccess) throws {
    let count = try LongWork("Copying").run { try access.backup(to: target, progress: $0) }
    if json { return try Output.print(json: ["target": .string(target), "documents": .int(Int64(count))]) }
    try Output.print("\(target): \(count.counting("document"))")
  }
}
