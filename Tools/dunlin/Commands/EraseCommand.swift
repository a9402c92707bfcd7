import ArgumentParser
import CRDTCore
import DunlinControl
import Facade

struct EraseCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "erase", abstract: "Erase documents here and at every peer: nothing of them comes back.",
    discussion: """
      The content goes at once, also that of removed documents, and all versions in the history. What a peer writes \
      later, without having heard of it, starts an empty document. \(DunlinErasure.limits) \
      Run 'dunlin compact' to clear free pages. A peer may have the store open.

      Example: dunlin erase store people p1 p2
      """)

  @Argument(help: "The store's directory.", completion: .directory)
  var store: String
  @Argument(help: "The collection's name.")
  var collection: String
  @Argument(
    help: "The documents' ids: JSON, plain text for a string, or hex: and the digits that verify prints.")
  var ids: [String]
  @Flag(help: "Print one JSON object.")
  var json = false

  func run() throws {
    let access = try StoreAccess.open(store)
    defer { access.close() }
    let result = try access.erase(ids, in: collection)
    if json {
      return try Output.print(json: result.merging(["collection": .string(collection)]) { $1 })
    }
    let (found, unknown) = (result.integer("found") ?? 0, result.integer("unknown") ?? 0)
    try Output.print("Erased from \(collection): \(found) found here, \(unknown) not known here")
    try Output.print(DunlinErasure.limits)
  }
}
