import ArgumentParser
import CRDTCore
import DocStore

struct CompactCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "compact", abstract: "Give a store's free pages back to the file system.",
    discussion: """
      The data file is written anew beside the old one, which needs room for both, and then takes its place. \
      Interrupted at any moment, there is the old file or the new one, with the same contents.

      Example: dunlin compact store
      """)

  @Argument(help: "The store's directory; nobody may have it open.", completion: .directory)
  var store: String
  @Flag(help: "Print one JSON object.")
  var json = false

  func run() throws {
    let store = try Store.alone(
      self.store,
      whileRunning:
        "end it first, or make a copy while it runs, which has no free pages, with 'dunlin backup \(self.store) COPY'"
    ) { try Store.open(existing: self.store) }
    defer { store.close() }
    let before = try store.statistics().fileBytes
    try LongWork("Compacting").run { try store.compact(progress: $0) }
    let after = try store.statistics().fileBytes
    if json {
      return try Output.print(json: ["bytesBefore": .int(Int64(before)), "bytes": .int(Int64(after))])
    }
    print("\(before.asBytes) before, \(after.asBytes) now")
  }
}
