import ArgumentParser
import CRDTCore
import DocStore
import Foundation

struct ExportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Write a collection's documents as JSON Lines, or one document's raw bytes.",
    discussion: """
      What is written, import reads back without loss. A value that JSON has no type for is a map of one key: \
      {"$counter":3}, {"$bytes":"<base64>"}, {"$double":"nan"}, {"$attachment":{…}}; a map that only looks so gets one \
      more $ before its key. A file is replaced when the new one is whole, and stays as it is when anything fails.
      """)

  @Argument(help: "The store's directory.")
  var store: String
  @Argument(help: "The collection's name.")
  var collection: String
  @Argument(help: "A file, packed when its name ends in .gz, or - for standard output.")
  var file = "-"
  @Flag(
    help:
      "Write plain JSON for other programs: counters as numbers, bytes as base64, NaN and infinities as null; how many values lost their type is told."
  )
  var plain = false
  @Option(
    help: ArgumentHelp(
      "Write the bytes of this one document as they are stored, whole or damaged: its id is JSON, plain text for a string, or hex: and the digits that verify prints.",
      valueName: "id"))
  var raw: String?

  func run() throws {
    let store = try Store.open(existing: store)
    defer { store.close() }
    if let raw { return try exportRaw(raw, store) }
    let isThere = try store.read { try $0.collection(collection) != nil }
    guard isThere else { throw ToolError("there is no collection \(collection)") }
    try writing { sink in
      var bar = Progress("Exporting")
      let (count, lost) = try write(store, to: sink, &bar)
      try sink.close()
      let summary = bar.finish(count)
      if file != "-" { try Output.print(summary) }
      if plain, lost > 0 {
        Output.note("\(lost.counting("value")) lost \(lost == 1 ? "its" : "their") type in plain JSON")
      }
    }
  }

  /// Writes all documents, as one snapshot has them.
  ///
  /// - Returns: How many documents, and how many values that lost their type.
  private func write(
    _ store: Store, to sink: ByteSink, _ bar: inout Progress
  ) throws -> (documents: Int, lost: Int) {
    var (count, out, plainer) = (0, [UInt8](), PlainJSON())
    try store.read { transaction in
      guard let collection = try transaction.collection(collection) else { return }
      try transaction.forEachRecord(in: collection) { id, _, record in
        guard record.isAlive else { return true }
        var fields = try record.fields(collection.keys)
        fields["_id"] = try DocumentID(validating: id).value
        if plain {
          JSON.write(plainer.plain(.map(fields)), to: &out)
        } else {
          JSON.write(.map(fields), to: &out, options: .init(isLossless: true))
        }
        out.append(0x0A)
        count += 1
        if out.count > 256 << 10 {
          try sink.write(out)
          out.removeAll(keepingCapacity: true)
          bar.update(count)
        }
        return true
      }
    }
    try sink.write(out)
    return (count, plainer.lostCount)
  }

  private func exportRaw(_ id: String, _ store: Store) throws {
    guard let bytes = try store.rawBytes(of: DocumentID(argument: id), in: collection) else {
      throw ToolError("\(collection) has no document \(id)")
    }
    try writing { sink in
      try sink.write(bytes)
      try sink.close()
    }
    if file != "-" { try Output.print(bytes.count.counting("byte")) }
  }

  /// Runs `body` with where to write; an interruption removes what is not whole.
  private func writing(_ body: (ByteSink) throws -> Void) throws {
    let sink = try ByteSink(path: file)
    let interruption = Interruption { [leftover = sink.leftover] in
      if let leftover { unlink(leftover) }
    }
    defer { interruption.cancel() }
    try body(sink)
  }
}
