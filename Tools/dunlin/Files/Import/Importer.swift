import CRDTCore
import DocStore
import Foundation

/// Reads the documents of a file into a collection, a batch to a transaction.
///
/// A batch is read while the one before it is written. When a record is bad, every batch before it stays, and
/// nothing of its own batch or of later ones is written; or, if the options say so, the record is left out.
/// The memory needed depends on the batch, not on the file.
struct Importer: Sendable {
  /// Opens what the documents go to, when the first batch has been looked at.
  let open: @Sendable () throws -> any DocumentSink
  let collection: String
  var reading = ReadingOptions()
  var idRule = IDRule.own
  var batchCount = 1_000
  var strategy = WriteStrategy.merge
  /// Whether the sink checks the documents and keeps none.
  var isTrial = false
  /// Whether bad records are left out.
  var skipsBad = false
  /// The file that gets them.
  var badLines: String?
  /// Where it is kept how far the import has come; `nil` keeps nothing.
  var statePath: String?
  /// Whether an import that was stopped is gone on with, or begun again; else it is refused.
  var resuming = Resuming.refuses
  /// Stops the import between two batches.
  var stop = StopFlag()

  enum Resuming: Sendable { case refuses, resumes, restarts }

  /// What an import came to.
  struct Outcome {
    /// Documents written by this run.
    var written = 0
    /// Documents that earlier runs wrote.
    var before = 0
    var skipped = 0
    var bad: [SkippedRecord] = []
    /// The types of the columns, where the file has columns.
    var types: ReadTypes?
    /// What the user is to know beside it.
    var notes: [String] = []
    var isStopped = false
    /// Whether the state is kept, so that the import can go on.
    var canResume = false
  }

  /// What a failed import has to tell beside the failure.
  struct Failure: Error, CustomStringConvertible {
    let description: String
    let canResume: Bool
  }

  /// Bytes that a batch may come to before its documents are as many as they may be.
  static let batchBytes = 8 << 20

  /// - Parameters:
  ///   - path: A file, plain or gzip, or `-`.
  ///   - progress: Called with the documents that this run has written and the share of the input read.
  /// - Returns: What it came to.
  /// - Throws: What is wrong and in which line, with what is stored; what the sink reports.
  func run(path: String, progress: (Int, Double?) -> Void = { _, _ in }) async throws -> Outcome {
    var run = try ImportRun(self, path: path)
    return try await run.run(progress)
  }

  /// What the documents depend on beside the file, so that an import goes on as it began.
  func optionsText(path: String) -> String {
    let ids =
      switch idRule {
      case .own: "own"
      case .field(let name): "field \(name.text)"
      case .template(let template): "template \(template.source)"
      }
    let columns = reading.columns.map { $0.map(\.argument).joined(separator: ",") } ?? ""
    let delimiter = reading.delimiter.map { "\($0)" } ?? ""
    return
      "format \(DocumentReader.format(of: path, reading)); delimiter \(delimiter); columns \(columns); types \(reading.types.argument); tags \(reading.interpretsTags); ids \(ids); strategy \(strategy)"
  }
}
