import CRDTCore
import DocStore

/// Reads documents from JSON Lines into a collection, a batch to a transaction.
///
/// A batch is read while the one before it is written. When a line is bad, every batch before it stays and nothing
/// of its own batch, or of later ones, is written.
struct Importer {
  let store: Store
  let collection: String
  var batchCount = 1_000
  var strategy = WriteStrategy.merge

  /// - Parameters:
  ///   - path: A file, plain or gzip, or `-`.
  ///   - progress: Called with the documents that are durable so far and the share of the input read.
  /// - Returns: The number of documents written.
  /// - Throws: What is wrong and in which line; what the store reports.
  func run(path: String, progress: (Int, Double?) -> Void = { _, _ in }) async throws -> Int {
    let source = try ByteSource(path: path)
    var lines = JSONLines()
    var batch = LineBatch()
    var full: [LineBatch] = []
    var written = 0
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
        pending = Task { try await write(batch, from: path) }
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
          failure = error
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
        ? failure : ToolError("\(failure); the \(written.grouped) documents before it are stored")
    }
    progress(written, 1)
    return written
  }

  private func write(_ batch: LineBatch, from path: String) async throws -> Int {
    try await store.write { transaction in
      try batch.forEach { number, line in
        do {
          try transaction.upsert(
            json: line, into: collection, strategy: strategy, options: .init(interpretsTags: true))
        } catch let error as JSONError {
          throw ToolError("\(path), line \(number): \(error)")
        }
      }
      return batch.count
    }.0
  }
}
