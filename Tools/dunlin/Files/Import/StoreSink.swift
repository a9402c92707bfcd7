import CRDTCore
import DocStore

/// A store that this process has open.
struct StoreSink: DocumentSink {
  let store: Store

  func insert(_ batch: DocumentBatch, into collection: String, strategy: WriteStrategy) async throws {
    try await store.write { try Self.upsert(batch, into: collection, strategy: strategy, $0) }
  }

  /// Writes a batch of documents in a transaction.
  ///
  /// - Throws: ``RefusedDocument`` where one of the documents is at fault.
  static func upsert(
    _ batch: DocumentBatch, into collection: String, strategy: WriteStrategy, _ transaction: WriteTransaction
  ) throws {
    try batch.forEach { index, text in
      do {
        try transaction.upsert(
          json: text, into: collection, strategy: strategy,
          options: .init(interpretsTags: batch.interpretsTags))
      } catch {
        throw isOfDocument(error) ? RefusedDocument(index: index, message: error.sentence) : error
      }
    }
  }

  func close() throws { store.close() }

  /// Whether an error is about what a document says, as against the state of the store.
  private static func isOfDocument(_ error: any Error) -> Bool {
    switch error {
    case let error as StoreError: [.document, .limit, .removedInTransaction].contains(error.code)
    default: true
    }
  }
}

extension Error {
  /// What an error says of a document, without the codes of programs.
  var sentence: String {
    switch self {
    case let error as StoreError: error.message
    case let error as DocumentError: error.message
    default: "\(self)"
    }
  }
}
