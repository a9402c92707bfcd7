import ArgumentParser
import CRDTCore
import DocStore

struct ImportCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import", abstract: "Read documents from JSON Lines into a collection.",
    discussion:
      "One JSON object a line, `_id` optional; plain or gzip. A document whose id exists is merged into.")

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

  func validate() throws {
    guard batch > 0 else { throw ValidationError("--batch must be at least 1") }
  }

  func run() async throws {
    let store = try Store.open(at: store, options: .tool)
    defer { store.close() }
    var bar = Progress("Importing", total: nil)
    let importer = Importer(
      store: store, collection: collection, batchCount: batch,
      strategy: initial ? .insertDefaultIfAbsent : .merge)
    let count = try await importer.run(path: file) { count, _ in bar.update(count) }
    print(bar.finish(count))
  }
}
