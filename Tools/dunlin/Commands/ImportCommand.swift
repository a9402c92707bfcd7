import ArgumentParser
import CRDTCore
import DocStore
import Synchronization

struct ImportCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import", abstract: "Read documents from JSON Lines into a collection.",
    discussion: """
      One JSON object a line, `_id` optional; plain or gzip. A document whose id exists is merged into. What JSON has \
      no type for stands in maps of one key, as export writes them: {"$counter":3}, {"$bytes":"<base64>"}, \
      {"$double":"nan"} and {"$attachment":{…}}; a map that only looks so has one more $ before its key.
      """)

  @Argument(help: "The store's directory; made when there is none.")
  var store: String
  @Argument(help: "The collection's name.")
  var collection: String
  @Argument(help: "A file, or - for standard input.")
  var file = "-"
  @Option(help: "Documents to a transaction; they become visible together, also at other peers.")
  var batch = 1_000
  @Flag(help: "Write default data: it loses to every real write and costs nothing on many devices.")
  var initial = false

  @Flag(help: "Take maps such as {\"$counter\":3} for the maps that they are.")
  var plain = false

  func validate() throws {
    guard batch > 0 else { throw ValidationError("--batch must be at least 1") }
  }

  func run() async throws {
    try CollectionName.check(collection, operation: "import")
    let opened = OpenedStore()
    defer { opened.store.withLock { $0 }?.close() }
    var bar = Progress("Importing", total: nil)
    let importer = Importer(
      open: { [store] in
        let store = try Store.open(at: store, options: .tool)
        opened.store.withLock { $0 = store }
        return store
      },
      collection: collection, batchCount: batch, strategy: initial ? .insertDefaultIfAbsent : .merge,
      interpretsTags: !plain)
    let count = try await importer.run(path: file) { count, _ in bar.update(count) }
    if opened.store.withLock({ $0 == nil }) { _ = try importer.open() }
    try Output.print(bar.finish(count))
  }
}

/// The store, once there is anything to put in.
private final class OpenedStore: Sendable {
  let store = Mutex<Store?>(nil)
}
