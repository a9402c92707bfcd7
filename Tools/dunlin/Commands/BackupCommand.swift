import ArgumentParser
import CRDTCore
import DocStore
import Facade

struct BackupCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup", abstract: "Copy a store into a new directory, as one consistent state.",
    discussion: """
      The copy is a store of its own: it takes another site when it is first opened, so both can go on. It is there \
      whole or not at all. An application backs up a store that it has open by the library's backup(to:).

      Example: dunlin backup store store-backup
      """)

  @Argument(help: "The store's directory; nobody may have it open.", completion: .directory)
  var store: String
  @Argument(help: "The new directory: it must not exist, or be empty.", completion: .directory)
  var target: String
  @Flag(help: "Print one JSON object.")
  var json = false

  func run() throws {
    let store = try Store.open(existing: store)
    defer { store.close() }
    try LongWork("Copying").run { try store.backup(to: target, carrying: Dunlin.carriedFiles, progress: $0) }
    if json {
      let count = try store.statistics().documentCount
      return try Output.print(json: ["target": .string(target), "documents": .int(Int64(count))])
    }
    print("\(target): \(try store.statistics().documentCount.counting("document"))")
  }
}
