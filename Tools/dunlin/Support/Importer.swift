import CRDTCore
import DocStore

/// Reads documents from JSON Lines into a collection, a batch to a transaction.
///
/// A batch is parsed while the one before it is written. When a line is bad, every batch before it
/// stays and nothing of its own batch is written.
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
    var batch: [[String: Value]] = []
    var full: [[[String: Value]]] = []
    var written = 0
    var pending: Task<Int, any Error>?
    func take(_ number: Int, _ line: RawSpan) throws {
      let value: Value
      do {
        value = try JSON.parse(line, options: .init(interpretsTags: true))
      } catch {
        throw ToolError("\(path), line \(number): \(error)")
      }
      guard case .map(let fields) = value else {
        throw ToolError("\(path), line \(number): a document must be a JSON object")
      }
      batch.append(fields)
      guard batch.count == batchCount else { return }
      full.append(batch)
      batch = []
      batch.reserveCapacity(batchCount)
    }
    func flush() async throws {
      for documents in full {
        if let pending { written += try await pending.value }
        progress(written, source.byteCount.map { Double(source.bytesRead) / Double(max($0, 1)) })
        pending = Task { try await write(documents) }
      }
      full = []
    }
    do {
      while let piece = try source.next() {
        try lines.append(piece.span.bytes, take)
        try await flush()
      }
      try lines.finish(take)
      if !batch.isEmpty { full.append(batch) }
      try await flush()
    } catch {
      // Batches that were complete before the mistake are kept.
      try? await flush()
      if let pending { written += (try? await pending.value) ?? 0 }
      throw written == 0
        ? error : ToolError("\(error); the \(written.grouped) documents before it are stored")
    }
    if let pending { written += try await pending.value }
    progress(written, 1)
    return written
  }

  private func write(_ documents: [[String: Value]]) async throws -> Int {
    let (count, _) = try await store.write { transaction in
      for fields in documents { _ = try transaction.upsert(fields, into: collection, strategy: strategy) }
      return documents.count
    }
    return count
  }
}
