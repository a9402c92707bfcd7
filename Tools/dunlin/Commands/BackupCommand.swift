import ArgumentParser
import CRDTCore
import DocStore

struct BackupCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup", abstract: "Copy a store into a new directory, as one consistent state.",
    discussion: """
      The copy is a store of its own: it takes another site when it is first opened, so both can go on. It is there \
      whole or not at all. A peer may have the store open, and goes on.

      Example: dunlin backup store store-backup
      """)

  @Argument(help: "The store's directory.", completion: .directory)
  var store: String
  @Argument(help: "The new directory: it must not exist, or be empty.", completion: .directory)
  var target: String
  @Flag(help: "Print one JSON object.")
  var json = false

  func run() throws {
    let access = try StoreAccess.open(store)
    defer { access.close() }
    let count = try LongWork("Copying").run { try access.backup(to: target, progress: $0) }
    if json { return try Output.print(json: ["target": .string(target), "documents": .int(Int64(count))]) }
    try Output.print("\(target): \(count.counting("document"))")
  }
}
