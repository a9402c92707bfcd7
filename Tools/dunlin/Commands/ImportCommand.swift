import ArgumentParser
import CRDTCore
import DocStore
import Foundation
import Synchronization

struct ImportCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import", abstract: "Read the documents of a file into a collection.",
    discussion: """
      JSON Lines, a JSON array, CSV or TSV, plain or gzip, by the file's name or --format. The _id is optional. A \
      document whose id exists is merged into. What JSON has no type for stands in maps of one key, as export writes \
      them: {"$counter":3}, {"$bytes":"<base64>"}, {"$double":"nan"} and {"$attachment":{…}}; a map that only looks \
      so has one more $ before its key.

      CSV and TSV begin with the names of their columns. A dot in a name makes a map: address.city. Types are those of \
      --types, or found out from the first 1,000 records; what is not sure to be a number, such as 007, is text. The \
      types are printed; with --dry-run nothing is written, to see types and mistakes first.

      An import that was stopped goes on with --resume. The status is 4 when records were left out by --skip-bad.

      Examples:
        dunlin import store flights flights.jsonl.gz
        dunlin import store prices prices.csv --dry-run
        dunlin import store prices prices.csv --types price:double --id-field code
        dunlin import store flights flights.csv --id-template '{origin}-{flight}'
        dunlin import store flights flights.jsonl --skip-bad --bad-lines bad.jsonl
        dunlin import store flights flights.jsonl --resume
        other-program | dunlin import store flights - --format csv
      """)

  @Argument(help: "The store's directory; made when there is none.", completion: .directory)
  var store: String
  @Argument(help: "The collection's name.")
  var collection: String
  @Argument(help: "A file, or - for standard input.", completion: .file())
  var file = "-"

  @Option(help: ArgumentHelp("The file's format: jsonl, json, csv or tsv.", valueName: "format"))
  var format: FileFormat?
  @Option(help: ArgumentHelp("What stands between two values, for example ';'.", valueName: "character"))
  var delimiter: Delimiter?
  @Option(
    help: ArgumentHelp("The names of the columns, where the file does not begin with them.", valueName: "a,b")
  )
  var columns: String?
  @Option(
    help: ArgumentHelp(
      "Types of columns: string, int, double, bool, counter, bytes (base64) or json.",
      valueName: "name:type,…"))
  var types: ColumnTypes?
  @Option(help: ArgumentHelp("The field whose value becomes the _id.", valueName: "field"))
  var idField: String?
  @Option(
    help: ArgumentHelp("A text with fields that becomes the _id: '{origin}-{flight}'.", valueName: "template")
  )
  var idTemplate: String?

  @Option(
    help: "Documents to a transaction, of 8 MiB at most; they become visible together, also at other peers.")
  var batch = 1_000
  @Flag(help: "Write default data: it loses to every real write and costs nothing on many devices.")
  var initial = false
  @Flag(help: "Take maps such as {\"$counter\":3} for the maps that they are.")
  var plain = false

  @Flag(help: "Read and check the whole file, and write nothing; what the store holds is not looked at.")
  var dryRun = false
  @Flag(help: "Leave out records that are no documents, and tell of each.")
  var skipBad = false
  @Option(
    help: ArgumentHelp(
      "Write what --skip-bad leaves out to a new file, as it stands.", valueName: "file"), completion: .file()
  )
  var badLines: String?
  @Flag(help: "Go on where a stopped import of this file into this collection ended, if there is one.")
  var resume = false
  @Flag(help: "Begin again, though an import of this file was stopped.")
  var restart = false
  @Option(
    help: ArgumentHelp(
      "Where it is kept how far the import has come; a file in the store's directory when not given.",
      valueName: "file"), completion: .file())
  var state: String?
  @OptionGroup
  var progress: ProgressOption
  @Flag(help: "Print what came of it as one JSON object.")
  var json = false

  /// How long an interruption waits for the batch that is being written.
  private static let patience = DispatchTimeInterval.seconds(30)

  func validate() throws {
    guard batch > 0 else { throw ValidationError("--batch must be at least 1") }
    guard idField == nil || idTemplate == nil else {
      throw ValidationError("--id-field and --id-template exclude each other")
    }
    guard !resume || !restart else { throw ValidationError("--resume and --restart exclude each other") }
    guard badLines == nil || skipBad else { throw ValidationError("--bad-lines stands beside --skip-bad") }
    guard !dryRun || !resume && !restart && badLines == nil && state == nil else {
      throw ValidationError("--dry-run writes nothing: no --resume, --restart, --state and --bad-lines")
    }
    if let idTemplate { try Self.refusing { _ = try IDTemplate(idTemplate) } }
    if let columns { try Self.refusing { _ = try Self.names(columns) } }
    guard !resume || file != "-" || state != nil else {
      throw ValidationError("standard input is gone on with by --state, and the same bytes once more")
    }
    guard DocumentReader.format(of: file, reading).delimiter == nil else { return }
    guard delimiter == nil, columns == nil, types == nil else {
      throw ValidationError("--delimiter, --columns and --types are for files with columns: see --format")
    }
  }

  private static func refusing(_ body: () throws -> Void) throws {
    do { try body() } catch { throw ValidationError("\(error)") }
  }

  /// The columns that an argument names, as a header does.
  private static func names(_ text: String) throws -> [ColumnName] {
    let bytes = Array(text.utf8)
    let cells: [SeparatedCell]
    do {
      cells = try SeparatedRecord.cells(bytes.span.bytes, delimiter: UInt8(ascii: ","))
    } catch {
      throw ToolError("--columns: \(error.message)")
    }
    return try SeparatedDecoder.names(of: cells)
  }

  private var reading: ReadingOptions {
    ReadingOptions(
      format: format, delimiter: delimiter?.byte, columns: columns.flatMap { try? Self.names($0) },
      types: types ?? ColumnTypes(),
      interpretsTags: !plain)
  }

  func run() async throws {
    try CollectionName.check(collection, operation: "import")
    let stop = StopFlag()
    let opened = OpenedSink()
    let interruption = Interruption {
      stop.request()
      stop.wait(Self.patience)
    }
    var bar = Progress("Importing", place: progress.place)
    let ending: Result<Importer.Outcome, any Error>
    do {
      let importer = try importer(opened, stop)
      let outcome = try await importer.run(path: file) { count, share in bar.update(count, share: share) }
      bar.clear()
      if !outcome.isStopped { try opened.openIfNeeded(importer) }
      try opened.close()
      ending = .success(outcome)
    } catch {
      bar.clear()
      try? opened.close()
      ending = .failure(error)
    }
    do {
      try tell(ending, seconds: bar.seconds)
      stop.finish()
      await interruption.yieldToCleanUp()
      interruption.cancel()
    } catch {
      if stop.isRequested { Output.note("\(Style.errors(.red, "Error:")) \(error)") }
      stop.finish()
      await interruption.yieldToCleanUp()
      interruption.cancel()
      throw error
    }
  }

  private func importer(_ opened: OpenedSink, _ stop: StopFlag) throws -> Importer {
    var importer = Importer(
      open: { [store, dryRun] in
        try opened.open { dryRun ? try TrialSink() : try StoreAccess.sink(store) }
      }, collection: collection, reading: reading, batchCount: batch,
      strategy: initial ? .insertDefaultIfAbsent : .merge, skipsBad: skipBad, badLines: badLines, stop: stop)
    importer.isTrial = dryRun
    if let idField { importer.idRule = .field(ColumnName(idField)) }
    if let idTemplate { importer.idRule = .template(try IDTemplate(idTemplate)) }
    if dryRun { return importer }
    if file != "-" {
      let path = URL(filePath: file).standardizedFileURL.path
      importer.statePath = state ?? ImportState.path(store: store, file: path, collection: collection)
    } else {
      importer.statePath = state
    }
    if resume { importer.resuming = .resumes }
    if restart { importer.resuming = .restarts }
    return importer
  }

  /// Says what came of it.
  private func tell(_ ending: Result<Importer.Outcome, any Error>, seconds: Double) throws {
    let outcome: Importer.Outcome
    switch ending {
    case .success(let value): outcome = value
    case .failure(let error):
      if (error as? Importer.Failure)?.canResume == true {
        Output.note("What is stored is kept: the same command with --resume goes on behind it.")
      }
      throw error
    }
    if let types = outcome.types?.note { Output.note(types) }
    for note in outcome.notes { Output.note(note) }
    if json {
      var values = outcome.values(collection: collection, seconds: seconds)
      if dryRun { values["isDryRun"] = .bool(true) }
      try Output.print(json: values)
    } else if !outcome.isStopped {
      try Output.print(outcome.text(seconds: seconds, isDryRun: dryRun))
    }
    if outcome.isStopped, dryRun {
      Output.note("Stopped: nothing is written.")
    } else if outcome.isStopped {
      let stored = (outcome.before + outcome.written).counting("document")
      Output.note(
        outcome.canResume
          ? "Stopped: \(stored) of \(file) \(stored == "1 document" ? "is" : "are") stored. The same command with --resume goes on there."
          : "Stopped: \(stored) stored.")
    } else if outcome.skipped > 0 {
      throw ExitCode(ExitStatus.skipped)
    }
  }
}

extension Importer.Outcome {
  /// The summary for people.
  fileprivate func text(seconds: Double, isDryRun: Bool) -> String {
    let rate = Int(Double(written) / seconds).groupedDigits
    let done = isDryRun ? "can be imported; nothing is written" : "imported"
    var text = "\(written.counting("document")) \(done), \(rate)/s"
    if before > 0 { text += "; \((before + written).groupedDigits) with those before the stop" }
    if skipped > 0 { text += "; \(skipped.counting("record")) left out" }
    return text
  }

  /// The summary for programs.
  fileprivate func values(collection: String, seconds: Double) -> [TextKey: Value] {
    [
      "collection": .string(collection), "documents": .int(Int64(written)),
      "types": types.map { .string($0.argument) } ?? .null,
      "documentsBefore": .int(Int64(before)),
      "skipped": .int(Int64(skipped)), "seconds": .double(seconds), "isStopped": .bool(isStopped),
      "canResume": .bool(canResume),
      "bad": .array(bad.map { .map(["line": .int(Int64($0.line)), "message": .string($0.message)]) }),
    ]
  }
}

/// What the documents go to, once there is anything to put in.
private final class OpenedSink: Sendable {
  private let sink = Mutex<(any DocumentSink)?>(nil)

  func open(_ make: () throws -> any DocumentSink) throws -> any DocumentSink {
    let made = try make()
    sink.withLock { $0 = made }
    return made
  }

  /// A file without documents makes a store too.
  func openIfNeeded(_ importer: Importer) throws {
    if sink.withLock({ $0 == nil }) { _ = try importer.open() }
  }

  func close() throws {
    try sink.withLock { sink in
      try sink?.close()
      sink = nil
    }
  }
}
