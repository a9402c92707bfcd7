import ArgumentParser
import CRDTCore
import DocStore
import DunlinControl
import Facade
import Foundation
import Synchronization

struct ExportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Write a collection's documents into a file, or one document's raw bytes.",
    discussion: """
      JSON Lines, a JSON array, CSV or TSV, by the file's name or --format. JSON is read back by import without loss: a \
      value that JSON has no type for is a map of one key: {"$counter":3}, {"$bytes":"<base64>"}, {"$double":"nan"}, \
      {"$attachment":{…}}; a map that only looks so gets one more $ before its key.

      CSV and TSV have a column for each field, address.city for a field within a map. Arrays, and values of several types \
      in one column, are JSON text. What is written tells the --types to read it back with; only null is lost.

      A file that is there is replaced with --force alone, when the new one is whole, and stays as it is when anything fails.

      Examples:
        dunlin export store flights flights.jsonl.gz
        dunlin export store flights flights.csv --force
        dunlin export store flights - --format json --plain
      """)

  @Argument(help: "The store's directory.", completion: .directory)
  var store: String
  @Argument(help: "The collection's name.")
  var collection: String
  @Argument(
    help: "A file, packed when its name ends in .gz, or - for standard output.", completion: .file())
  var file = "-"
  @Option(help: ArgumentHelp("The file's format: jsonl, json, csv or tsv.", valueName: "format"))
  var format: FileFormat?
  @Option(help: ArgumentHelp("What stands between two values, for example ';'.", valueName: "character"))
  var delimiter: Delimiter?
  @Flag(help: "Replace the file if it is there.")
  var force = false
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
  @OptionGroup
  var progress: ProgressOption
  @Flag(help: "Print what came of it as one JSON object; to a file alone.")
  var json = false

  func validate() throws {
    guard !json || file != "-" else {
      throw ValidationError("--json tells of a file that is written; on standard output are the documents")
    }
    guard delimiter == nil || chosen.delimiter != nil else {
      throw ValidationError("--delimiter is for files with columns: see --format")
    }
  }

  private var chosen: FileFormat { format ?? (delimiter == nil ? FileFormat(path: file) ?? .jsonl : .csv) }

  func run() throws {
    let store = try Store.alone(
      self.store,
      whileRunning:
        "make a copy while it runs with 'dunlin backup \(self.store) COPY', and export from the copy"
    ) { try Store.open(reading: self.store) }
    defer { store.close() }
    if let raw { return try exportRaw(raw, store) }
    _ = try store.read { try StoreReport.existing(collection, in: $0) }
    try writing { sink in
      var bar: Progress?
      let label = "Exporting"
      let outcome: Exporter.Outcome
      do {
        defer { bar?.clear() }
        let exporter = Exporter(format: chosen, delimiter: delimiter?.byte, isPlain: plain)
        outcome = try exporter.write(collection, of: store, to: sink) { count, total in
          if bar == nil { bar = Progress(label, total: total, place: progress.place) }
          bar?.update(count)
        }
        try sink.close()
      }
      try tell(outcome)
    }
  }

  /// Says what came of it, and what the file does not have.
  private func tell(_ outcome: Exporter.Outcome) throws {
    let types = outcome.types?.argument ?? ""
    if json {
      try Output.print(json: [
        "collection": .string(collection), "file": .string(file), "format": .string(chosen.rawValue),
        "documents": .int(Int64(outcome.documents)), "lostTypes": .int(Int64(outcome.lostTypes)),
        "nulls": .int(Int64(outcome.nulls)), "types": .string(types),
      ])
    } else if file != "-" {
      try Output.print("\(outcome.documents.counting("document")) exported to \(file)")
    }
    if outcome.lostTypes > 0 {
      let their = outcome.lostTypes == 1 ? "its" : "their"
      Output.note("\(outcome.lostTypes.counting("value")) lost \(their) type in plain JSON")
    }
    if outcome.nulls > 0 {
      let are = outcome.nulls == 1 ? "value that is" : "values that are"
      Output.note("\(outcome.nulls.groupedDigits) \(are) null: left out, since columns have no form for that")
    }
    if !types.isEmpty, !json { Output.note("import reads it back with --types '\(types)'") }
  }

  private func exportRaw(_ id: String, _ store: Store) throws {
    guard let bytes = try store.rawBytes(of: DocumentID(argument: id), in: collection) else {
      throw try store.read { StoreReport.absence(of: id, in: collection, $0) }
    }
    try writing { sink in
      try sink.write(bytes)
      try sink.close()
    }
    if json {
      try Output.print(json: ["file": .string(file), "bytes": .int(Int64(bytes.count))])
    } else if file != "-" {
      try Output.print(bytes.count.counting("byte"))
    }
  }

  /// Runs `body` with where to write; an interruption removes what is not whole.
  private func writing(_ body: (ByteSink) throws -> Void) throws {
    let leftover = Leftover()
    let interruption = Interruption {
      if let path = leftover.path.withLock({ $0 }) { unlink(path) }
    }
    defer { interruption.cancel() }
    try body(try ByteSink(path: file, replaces: force) { path in leftover.path.withLock { $0 = path } })
  }
}

/// The name of a file that is of no use if the program ends now.
private final class Leftover: Sendable {
  let path = Mutex<String?>(nil)
}
