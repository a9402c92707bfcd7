import ArgumentParser
import CRDTCore
import DunlinControl
import Facade

struct EvictCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "evict", abstract: "Remove one document from this store alone, whole or damaged.",
    discussion: """
      Other peers keep it, and it comes back by sync from a peer that has it, to a subscription that asks for it. \
      This is how a damaged document is replaced by a whole one. A peer may have the store open.

      Example: dunlin evict store flights hex:0363617231
      """)

  @Argument(help: "The store's directory.", completion: .directory)
  var store: String
  @Argument(help: "The collection's name.")
  var collection: String
  @Argument(
    help: "The document's id: JSON, plain text for a string, or hex: and the digits that verify prints.")
  var id: String
  @Flag(help: "Print one JSON object.")
  var json = false

  func run() throws {
    let access = try StoreAccess.open(store)
    defer { access.close() }
    try access.evict(id, in: collection)
    if json {
      let document = try DocumentID(written: id)
      return try Output.print(json: ["collection": .string(collection), "_id": document.value])
    }
    try Output.print("\(id) is evicted from \(collection)")
  }
}
