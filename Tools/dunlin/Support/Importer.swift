import CRDTCore
import DocStore

/// Reads documents from JSON Lines into a collection, a batch to a transaction.
///
/// A batch is read while the one before it is written. When a line is bad, every batch before it stays and nothing
/// of its own batch, or of later ones, is written.
struct Importer: Sendable {
  /// Opens the store, when the first batch has been looked at.
  let open: @Sendable () throws -> Store
  let collection: String
  var batchCount = 1_000
  var strategy = WriteStrategy.merge
  /// Whether maps such as `{"$counter":1}` stand for values that JSON has no type for.
  var interpretsTags = true

  /// - Parameters:
  ///   - path: A file, plain or gzip, or `-`.
  ///   - progress: Called with the documents that are durable so far and the share of the input read.
  /// - Returns: The number of documents written.
  /// - Throws: What is wrong and in which line; what the store reports.
  func run(path: String, progress: (Int, Double?) -> Void = { _, _ in }) async throws -> Int {
    let source = try ByteSource(path: path)
    let name = source.name
    var lines = JSONLines()
    var batch = LineBatch()
    var full: [LineBatch] = []
    var written = 0
    var store: Store?
    var pending: Task<Int, any Error>?
    var failure: (any Error)?
    func take(_ number: Int, _ line: RawSpan) {
      batch.append(line, number: number)
      guard batch.count == batchCount else { return }
      full.append(batch)
      batch = LineBatch()
    }
    func settle() async throws {
      guard let task = pending else { return }
      pending = nil
      written += try await task.value
    }
    func flush() async throws {
      for batch in full {
        try await settle()
        progress(written, source.byteCount.map { Double(source.bytesRead) / Double(max($0, 1)) })
        let target = try store ?? opened(for: batch, name)
        store = target
        pending = Task { try await write(batch, to: target, from: name) }
      }
      full = []
    }
    do {
      var isAtEnd = false
      while !isAtEnd {
        do {
          if let piece = try source.next() {
            try lines.append(piece.span.bytes, take)
          } else {
            try lines.finish(take)
            if batch.count > 0 { full.append(batch) }
            isAtEnd = true
          }
        } catch {
          // Batches that were complete before the mistake are kept.
          failure = error is JSONError ? Self.mistake(error, name, lines.lineNumber) : error
          isAtEnd = true
        }
        try await flush()
      }
      try await settle()
    } catch {
      failure = error
    }
    if let failure {
      throw written == 0
        ? failure
        : ToolError(
          written == 1
            ? "\(failure); the document before it is stored"
            : "\(failure); the \(written.groupedDigits) documents before it are stored")
    }
    progress(written, 1)
    return written
  }

  /// Opens the store once the first lines are known to be documents: a wrong file is to leave no store behind.
  private func opened(for batch: LineBatch, _ name: String) throws -> Store {
    try batch.forEach { number, line in
      do {
        guard case .map(let fields) = try JSON.parse(line, options: .init(interpretsTags: interpretsTags))
        else { throw JSONError(.syntax, "a document must be a JSON object", at: 0) }
        if let id = fields["_id"] { _ = try DocumentID(id) }
      } catch {
        throw Self.mistake(error, name, number)
      }
    }
    return try open()
  }

  private func write(_ batch: LineBatch, to store: Store, from name: String) async throws -> Int {
    try await store.write { transaction in
      try batch.forEach { number, line in
        do {
          try transaction.upsert(
            json: line, into: collection, strategy: strategy,
            options: .init(interpretsTags: interpretsTags))
        } catch {
          throw Self.isOfLine(error) ? Self.mistake(error, name, number) : error
        }
      }
      return batch.count
    }.0
  }

  /// Whether an error is about what a line says, as against the state of the store.
  private static func isOfLine(_ error: any Error) -> Bool {
    switch error {
    case let error as StoreError: [.document, .limit, .removedInTransaction].contains(error.code)
    default: true
    }
  }

  private static func mistake(_ error: any Error, _ name: String, _ line: Int) -> ToolError {
    let message =
      switch error {
      case let error as StoreError: error.message
      case let error as DocumentError: error.message
      default: "\(error)"
      }
    return ToolError("\(name), line \(line): \(message)")
  }
}
