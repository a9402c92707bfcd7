import ArgumentParser
import CRDTCore
import DocStore
import Foundation

struct ExportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Write a collection's documents as JSON Lines, or one document's raw bytes.")

  @Argument(help: "The store's directory.")
  var store: String
  @Argument(help: "The collection's name.")
  var collection: String
  @Argument(help: "A file, packed when its name ends in .gz, or - for standard output.")
  var file = "-"
  @Option(
    help: ArgumentHelp(
      "Write the bytes of this one document as they are stored, whole or damaged: its id is JSON, plain text for a string, or hex: and the digits that verify prints.",
      valueName: "id"))
  var raw: String?

  func run() throws {
    let store = try Store.open(existing: store)
    defer { store.close() }
    if let raw { return try exportRaw(raw, store) }
    let sink = try ByteSink(path: file)
    var bar = Progress("Exporting")
    var count = 0
    try store.read { transaction in
      guard let collection = try transaction.collection(collection) else {
        throw ToolError("there is no collection \(collection)")
      }
      var out: [UInt8] = []
      try transaction.forEachRecord(in: collection) { id, _, record in
        guard record.isAlive else { return true }
        var fields = try record.fields(collection.keys)
        fields["_id"] = try DocumentID(validating: id).value
        JSON.write(.map(fields), to: &out)
        out.append(0x0A)
        count += 1
        if out.count > 256 << 10 {
          try sink.write(out)
          out.removeAll(keepingCapacity: true)
          bar.update(count)
        }
        return true
      }
      try sink.write(out)
    }
    try sink.close()
    let summary = bar.finish(count)
    if file != "-" { print(summary) }
  }

  private func exportRaw(_ id: String, _ store: Store) throws {
    guard let bytes = try store.rawBytes(of: DocumentID(argument: id), in: collection) else {
      throw ToolError("\(collection) has no document \(id)")
    }
    let sink = try ByteSink(path: file)
    try sink.write(bytes)
    try sink.close()
    if file != "-" { print("\(bytes.count.grouped) bytes") }
  }
}
