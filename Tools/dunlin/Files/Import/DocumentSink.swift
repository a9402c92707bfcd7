import CRDTCore

/// Where an import puts its documents.
protocol DocumentSink: Sendable {
  /// Writes a batch of documents into a collection: all of it, durable when this returns, or nothing.
  ///
  /// A document without an `_id` gets one.
  /// - Throws: ``RefusedDocument`` where one of the documents is at fault; anything else ends the import.
  func insert(_ batch: DocumentBatch, into collection: String, strategy: WriteStrategy) async throws

  /// Ends the use of the sink; no batch follows.
  func close() throws
}

/// A document that cannot be written, as it is.
struct RefusedDocument: Error {
  /// Its place in the batch, from 0.
  let index: Int
  /// What is wrong with it: one sentence without a full stop.
  let message: String
}
