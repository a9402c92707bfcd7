import ArgumentParser
import CRDTCore
import Facade
import PeerControl

struct WhyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "why", abstract: "Say why a document is, or is not, at another peer.",
    discussion: """
      The peer that has the store open says what it knows by itself; it asks nobody. The status is 0 when the document has arrived, and 2 \
      when it has not. An id of digits that no document has as a number is looked for as a text, and the reverse. Examples:

        dunlin why store cars c1 --at tablet
        dunlin why store cars c1 --from depot
      """)

  @Argument(
    help: "The directory of a store that a peer has open, or the data directory of a big peer that runs.",
    completion: .directory)
  var store: String
  @OptionGroup
  var choice: ApplicationChoice
  @Argument(help: "The collection's name.")
  var collection: String
  @Argument(help: "The document's id: JSON, or plain text for a string.")
  var id: String
  @Option(help: ArgumentHelp("The peer that should have it: its name or its id.", valueName: "peer"))
  var at: String?
  @Option(help: ArgumentHelp("The peer that it should have come from.", valueName: "peer"))
  var from: String?

  func validate() throws {
    guard (at == nil) != (from == nil) else {
      throw ValidationError("say one peer: --at that should have it, or --from that should send it")
    }
  }

  func run() throws {
    let answer = try StoreAccess.peer(of: store, application: choice.application).ask(
      "why",
      [
        "collection": .string(collection), "document": .string(id), "peer": .string(at ?? from ?? ""),
        "isIncoming": .bool(from != nil),
      ])
    try Output.print((answer.string("text") ?? "").printable)
    if let hint = answer.string("hint") { try Output.print(hint.printable) }
    guard answer.boolean("isThere") ?? false else { throw ExitCode(ExitStatus.absent) }
  }
}
