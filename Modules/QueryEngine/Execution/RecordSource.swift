package import CRDTCore
package import DocStore

/// What a plan reads from: a snapshot, or a write transaction with its own writes.
package protocol RecordSource: ~Copyable {
  borrowing func collections() throws -> [CollectionInfo]
  borrowing func collection(_ name: String) throws -> DocStore.Collection?
  borrowing func oversizeDocuments() throws -> [OversizeDocument]
  borrowing func forEachDocument(
    above limit: Int, visiting: () throws -> Void, _ body: (OversizeDocument) throws -> Void
  ) throws

  // MARK: Documents

  borrowing func withRecord<R>(
    _ collection: DocStore.Collection, _ id: DocumentID, _ body: (borrowing RecordView, Summary) throws -> R
  ) throws -> R?
  borrowing func withRecord<R>(
    numbered number: DocumentNumber, in collection: DocStore.Collection,
    _ body: (_ id: RawSpan, _ summary: Summary, _ record: borrowing RecordView) throws -> R
  ) throws -> R?
  borrowing func forEachRecord(
    in collection: DocStore.Collection, from: [UInt8]?, to: [UInt8]?, verify: Bool,
    _ body: (_ id: RawSpan, _ summary: Summary, _ record: borrowing RecordView) throws -> Bool
  ) throws
  borrowing func forEachStoredRecord(
    in collection: DocStore.Collection, from number: DocumentNumber?, verify: Bool,
    _ body: (
      _ number: DocumentNumber, _ id: RawSpan, _ summary: Summary, _ record: borrowing RecordView
    ) throws -> Bool
  ) throws

  // MARK: Indexes

  /// The versions of what plans depend on; `nil` where these may change while plans are used.
  var planningMoment: PlanningMoment? { get }
  borrowing func readyIndexes(of collection: DocStore.Collection) throws -> [IndexInfo]
  borrowing func documentCount(of collection: DocStore.Collection) throws -> Int
  borrowing func indexes(of collection: DocStore.Collection) throws -> [IndexInfo]
  borrowing func forEachRow(
    in index: IndexInfo, from: IndexBound?, to: IndexBound?, reversed: Bool,
    _ body: (borrowing IndexRow) throws -> Bool
  ) throws
  borrowing func withIndex<R>(
    _ index: IndexInfo, of collection: DocStore.Collection, _ body: (borrowing IndexReader) throws -> R
  ) throws -> R
  borrowing func withRecords<R>(
    of collection: DocStore.Collection, _ body: (borrowing RecordReader) throws -> R
  ) throws -> R
}

extension ReadTransaction: RecordSource {
  package var planningMoment: PlanningMoment? {
    catalogueVersion.map { PlanningMoment(version: $0, sequence: sequence) }
  }
}

extension WriteTransaction: RecordSource {
  /// `nil`: in a transaction that writes, what plans depend on may change at any time.
  package var planningMoment: PlanningMoment? { nil }

  /// Refused: the list is complete only when the transaction commits.
  package func oversizeDocuments() throws -> [OversizeDocument] {
    throw QueryError(.unsupported, "system:oversize_documents cannot be read inside a write transaction")
  }

  /// Refused, like the list of oversize documents.
  package func forEachDocument(
    above limit: Int, visiting: () throws -> Void, _ body: (OversizeDocument) throws -> Void
  ) throws {
    throw QueryError(.unsupported, "system:large_documents cannot be read inside a write transaction")
  }
}
