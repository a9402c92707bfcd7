import ArgumentParser
import CRDTCore
import DocStore

struct EvictCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "evict", abstract: "Remove one document from this store alone, whole or damaged.",
    discussion: """
      Other peers keep it, and it comes back by sync from a peer that has it, to a subscription that asks for it. \
      This is how a damaged document is replaced by a whole one.

      Example: dunlin evict store flights hex:0363617231
      """)

  @Argument(help: "The store's directory; nobody may have it open.", completion: .directory)
  var store: String
  @Argument(help: "The collection's name.")
  var collection: String
  @Argument(
    help: "The document's id: JSON, plain text for a string, or hex: and the digits that verify prints.")
  var id: String
  @Flag(help: "Print one JSON object.")
  var json = false

  func run() throws {
    let document = try DocumentID(argument: id)
    let store = try Store.open(existing: store)
    defer { store.close() }
    guard try store.write({ try $0.evict(document, in: collection) }).0 else {
      throw ToolError("\(collection) has no document \(id)")
    }
    if json {
      return try Output.print(json: ["collection": .string(collection), "_id": document.value])
    }
    print("\(id) is evicted from \(collection)")
  }
}
