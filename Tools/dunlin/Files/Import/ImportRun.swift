import CRDTCore
import DocStore
import Foundation

/// One run of an import: what it reads, what waits to be written, and how far it has come.
struct ImportRun {
  /// A batch, what was left out between its documents, and the place in the file behind them.
  private struct Portion: Sendable {
    var batch: DocumentBatch
    /// The records that the documents come from, where one may have to be left out.
    var originals = RecordList()
    var skipped: [SkippedRecord] = []
    var bytes = 0
    var end: ImportState.Position
    /// Bytes of the unpacked file before that place, about.
    var endBytes = 0

    var isEmpty: Bool { batch.count == 0 && skipped.isEmpty }
  }

  /// What came of writing a portion.
  private struct Written: Sendable {
    var count: Int
    var skipped: [SkippedRecord]
    var end: ImportState.Position
    var endBytes: Int
  }

  private let importer: Importer
  private let source: ByteSource
  private var reader: DocumentReader
  private var skipped: SkippedRecords
  /// What is kept of an earlier run, until its place in the file is reached.
  private var former: ImportState.Position?
  private var state: ImportState
  private var stateWritten = ContinuousClock.now
  private var sink: (any DocumentSink)?
  private var outcome = Importer.Outcome()
  private var failure: (any Error)?
  /// The place behind the last record that was read.
  private var position = ImportState.Position()
  /// Bytes of the unpacked file: read, before the last record that was read, and before what is written.
  private var (plainBytes, recordBytes, writtenBytes) = (0, 0, 0)
  private var portion: Portion
  private var full: [Portion] = []
  private let writesTags: Bool

  init(_ importer: Importer, path: String) throws {
    self.importer = importer
    let stop = importer.stop
    source = try ByteSource(path: path) { stop.isRequested }
    reader = DocumentReader(path: path, importer.reading)
    let absolute = path == "-" ? path : URL(filePath: path).standardizedFileURL.path
    state = ImportState(
      file: absolute, collection: importer.collection, options: importer.optionsText(path: path),
      ids: RecordIDs(), position: ImportState.Position())
    var goesOn = false
    if let statePath = importer.statePath {
      goesOn = try Self.goesOn(with: &state, importer, statePath)
      if state.position.records > 0 { former = state.position }
    }
    let format = DocumentReader.format(of: path, importer.reading)
    skipped = try SkippedRecords(
      of: source.name, to: importer.badLines, appends: goesOn, joinsLines: format == .json)
    // Documents that become text here are written with tags, unless tags mean nothing.
    writesTags = importer.reading.interpretsTags || format.delimiter != nil
    portion = Portion(batch: DocumentBatch(interpretsTags: writesTags), end: position)
    outcome.before = former?.stored ?? 0
  }

  /// Takes up the state that an earlier run has left; `false` where there is none.
  private static func goesOn(
    with state: inout ImportState, _ importer: Importer, _ path: String
  ) throws -> Bool {
    if importer.resuming == .restarts {
      try ImportState.remove(path)
      return false
    }
    guard let former = try ImportState.read(path) else { return false }
    let done = former.position.stored.counting("document")
    guard importer.resuming == .resumes else {
      throw ToolError(
        "\(state.file): an import into \(state.collection) was stopped after \(done); --resume goes on there, --restart begins again"
      )
    }
    guard former.file == state.file, former.collection == state.collection else {
      throw ToolError("\(path): this is the state of an import of \(former.file) into \(former.collection)")
    }
    guard former.options == state.options else {
      throw ToolError(
        "\(state.file): the import began with other options: \(former.options); --restart begins again")
    }
    state = former
    return true
  }

  mutating func run(_ progress: (Int, Double?) -> Void) async throws -> Importer.Outcome {
    var pending: Task<Written, any Error>?
    do {
      var isAtEnd = false
      while !isAtEnd {
        do {
          isAtEnd = try readNext()
        } catch {
          failure = failure ?? mistake(error)
          isAtEnd = true
        }
        if importer.stop.isRequested { isAtEnd = true }
        for next in exchange(&full, with: []) where !importer.stop.isRequested {
          if let task = exchange(&pending, with: nil) { try settle(await task.value) }
          progress(outcome.written, share)
          let target = try sink ?? opened(for: next)
          sink = target
          pending = Task { [importer, name = source.name] in
            try await Self.write(next, to: target, importer, name)
          }
        }
      }
      if let task = exchange(&pending, with: nil) { try settle(await task.value) }
      // What was read last is not written; a mistake in it is the first one all the same.
      if failure != nil { try check(portion) }
    } catch {
      if let task = exchange(&pending, with: nil) { try? settle(await task.value) }
      // What could not be written stands before what could not be read.
      failure = error
    }
    return try finish(progress)
  }

  /// Which part of the file is written; `nil` where nobody knows how long it is.
  private var share: Double? {
    source.byteCount.map { byteCount in
      let read = Double(source.bytesRead) / Double(max(byteCount, 1))
      return read * min(Double(writtenBytes) / Double(max(plainBytes, 1)), 1)
    }
  }

  /// Reads the next bytes of the file; `true` at its end.
  private mutating func readNext() throws -> Bool {
    // Taken out, so that what it keeps of the file is not copied.
    var reader = exchange(&self.reader, with: DocumentReader(path: "", ReadingOptions()))
    defer { self.reader = reader }
    if let piece = try source.next() {
      plainBytes += piece.count
      try reader.append(piece.span.bytes) { take($0, $1, $2) }
      return failure != nil
    }
    guard !importer.stop.isRequested else { return true }
    try reader.finish { take($0, $1, $2) }
    if failure == nil {
      if let former {
        throw ToolError(
          "\(source.name): only \(position.records.counting("record")), of which \(former.records.groupedDigits) are imported already: it is not the file of the stopped import; --restart begins again"
        )
      }
      if !portion.isEmpty { full.append(portion) }
    }
    return true
  }

  // MARK: - Records

  private mutating func take(_ line: Int, _ record: RawSpan, _ form: DocumentForm) {
    guard failure == nil else { return }
    position.add(record)
    recordBytes += record.byteCount + 1
    if case .header = form { return skipped.note(header: record.array) }
    position.records += 1
    position.line = line
    if let former {
      if position.records == former.records { checkFormer(former) }
      return
    }
    do {
      try append(record, line, form)
      if importer.skipsBad { portion.originals.append(record, line: line) }
    } catch {
      let message = error.sentence
      guard importer.skipsBad else {
        failure = ToolError("\(source.name), line \(line): \(message)")
        return
      }
      portion.skipped.append(SkippedRecord(line: line, message: message, bytes: record.array))
      portion.bytes += record.byteCount
    }
    (portion.end, portion.endBytes) = (position, recordBytes)
    guard
      portion.batch.count >= importer.batchCount || portion.skipped.count >= importer.batchCount
        || portion.bytes >= Importer.batchBytes
    else { return }
    full.append(portion)
    portion = Portion(batch: DocumentBatch(interpretsTags: writesTags), end: position)
  }

  /// Whether the records up to the place of an earlier run are those that it read.
  private mutating func checkFormer(_ former: ImportState.Position) {
    guard position.fingerprint == former.fingerprint else {
      failure = ToolError(
        "\(source.name): its first \(former.records.counting("record")) are not those that are imported already; --restart begins again"
      )
      return
    }
    self.former = nil
    portion.end = position
  }

  /// Puts a record's document into the batch.
  private mutating func append(_ record: RawSpan, _ line: Int, _ form: DocumentForm) throws {
    portion.bytes += record.byteCount
    let number = position.records
    switch form {
    case .header: return
    case .bad(let message): throw ToolError(message)
    case .fields(let fields): portion.batch.append(try text(of: fields, number), line: line)
    case .text:
      if importer.idRule == .own, !importer.skipsBad {
        switch OwnID.find(in: record) {
        case .present: return portion.batch.append(record, line: line)
        case .absent(let brace, let isEmpty):
          let id = state.ids.id(ofRecord: number)
          return portion.batch.append(
            OwnID.adding(id, to: record, brace: brace, isEmpty: isEmpty), line: line)
        case .unknown: break
        }
      }
      let tags = JSON.ReadOptions(interpretsTags: importer.reading.interpretsTags)
      guard case .map(let fields) = try JSON.parse(record, options: tags) else {
        throw ToolError("a document must be a JSON object")
      }
      portion.batch.append(try text(of: fields, number), line: line)
    }
  }

  /// The JSON text of a document with its id.
  private func text(of fields: [TextKey: Value], _ number: Int) throws -> [UInt8] {
    var fields = fields
    if let id = try importer.idRule.id(for: fields) { fields["_id"] = id }
    if let id = fields["_id"] {
      _ = try DocumentID(id)
    } else {
      fields["_id"] = .string(state.ids.id(ofRecord: number))
    }
    var bytes: [UInt8] = []
    JSON.write(.map(fields), to: &bytes, options: .init(isLossless: writesTags))
    return bytes
  }

  // MARK: - Writing

  /// Finds out whether what a portion holds are documents.
  ///
  /// - Throws: ``ToolError`` with the line of the first that is none.
  private func check(_ portion: Portion) throws {
    try portion.batch.forEach { index, text in
      do {
        let options = JSON.ReadOptions(interpretsTags: portion.batch.interpretsTags)
        guard case .map(let fields) = try JSON.parse(text, options: options) else {
          throw ToolError("a document must be a JSON object")
        }
        if let id = fields["_id"] { _ = try DocumentID(id) }
      } catch {
        throw ToolError(
          "\(source.name), line \(portion.batch.documents.line(of: index)): \(error.sentence)")
      }
    }
  }

  /// Opens the sink once the first documents are known to be some: a wrong file is to leave no store behind.
  private func opened(for portion: Portion) throws -> any DocumentSink {
    try check(portion)
    let sink = try importer.open()
    if let path = importer.statePath, former == nil, state.position.records == 0 {
      // Before the first document: without it a run that ends at once would not know the ids.
      try state.write(path)
    }
    return sink
  }

  private static func write(
    _ portion: Portion, to sink: any DocumentSink, _ importer: Importer, _ name: String
  ) async throws -> Written {
    var (batch, skipped) = (portion.batch, portion.skipped)
    var places = Array(0..<batch.count)
    while batch.count > 0 {
      do {
        try await sink.insert(batch, into: importer.collection, strategy: importer.strategy)
        break
      } catch let refused as RefusedDocument {
        let line = batch.documents.line(of: refused.index)
        guard importer.skipsBad else { throw ToolError("\(name), line \(line): \(refused.message)") }
        let original = portion.originals[places.remove(at: refused.index)]
        skipped.append(SkippedRecord(line: line, message: refused.message, bytes: original))
        batch = batch.removing(refused.index)
      }
    }
    return Written(
      count: batch.count, skipped: skipped.sorted { $0.line < $1.line }, end: portion.end,
      endBytes: portion.endBytes)
  }

  /// Takes note of what was written.
  private mutating func settle(_ written: Written) throws {
    outcome.written += written.count
    writtenBytes = written.endBytes
    try skipped.add(written.skipped)
    var end = written.end
    end.stored = state.position.stored + written.count
    end.skipped = state.position.skipped + written.skipped.count
    state.position = end
    let now = ContinuousClock.now
    guard now - stateWritten > .seconds(1) else { return }
    stateWritten = now
    try keepState()
  }

  private func keepState() throws {
    if let path = importer.statePath, state.position.records > 0 { try state.write(path) }
  }

  // MARK: - The end

  private mutating func finish(_ progress: (Int, Double?) -> Void) throws -> Importer.Outcome {
    skipped.finish()
    outcome.skipped = skipped.count
    outcome.bad = skipped.listed
    outcome.types = reader.types
    outcome.notes = reader.notes
    outcome.isStopped = importer.stop.isRequested
    let isWhole = failure == nil && !outcome.isStopped
    if let path = importer.statePath, sink != nil || state.position.records > 0 {
      do {
        if isWhole || state.position.records == 0 {
          try ImportState.remove(path)
        } else {
          try keepState()
          outcome.canResume = true
        }
      } catch {
        failure = failure ?? error
      }
    }
    if let failure {
      let stored = outcome.before + outcome.written
      guard stored > 0, former == nil, !importer.isTrial else { throw failure }
      throw Importer.Failure(
        description: stored == 1
          ? "\(failure); the document before it is stored"
          : "\(failure); the \(stored.groupedDigits) documents before it are stored",
        canResume: outcome.canResume)
    }
    if isWhole { progress(outcome.written, 1) }
    return outcome
  }

  /// An error with the file and the line.
  private func mistake(_ error: any Error) -> any Error {
    switch error {
    case let error as CuttingError: ToolError("\(source.name), line \(error.line): \(error.message)")
    case is JSONError: ToolError("\(source.name), line \(reader.lineNumber): \(error)")
    default: error
    }
  }
}
