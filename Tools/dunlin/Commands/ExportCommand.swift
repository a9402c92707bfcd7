import Foundation
import ArgumentParser
import CRDTCore
import DocStore

struct ExportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export", abstract: "Write a collection's documents as JSON Lines.")

  @Argument(help: "The store's directory.")
  var store: String
  @Argument(help: "The collection's name.")
  var collection: String
  @Argument(help: "A file, packed when its name ends in .gz, or - for standard output.")
  var file = "-"

  func run() throws {
    let store = try Store.open(existing: store)
    defer { store.close() }
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
}

extension Store {
  /// Opens a store that must be there already, so that a mistyped path makes no new one.
  static func open(existing path: String) throws -> Store {
    guard FileManager.default.fileExists(atPath: path) else { throw ToolError("\(path): there is no store") }
    return try open(at: path)
  }
}
