/// Says whether a snapshot may still be read; meaningless once the snapshot has ended.
package struct SnapshotDeadline: Sendable {
  private let reader: ReaderSlot

  init(_ reader: ReaderSlot) { self.reader = reader }

  /// - Throws: `deadline` when the snapshot is older than the options' deadline for readers and another
  ///   transaction has committed since, because the store cannot reuse the snapshot's pages.
  package func check() throws(StoreError) { try reader.check() }
}
