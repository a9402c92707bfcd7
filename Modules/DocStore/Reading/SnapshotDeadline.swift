/// Whether a snapshot may still be read; of no meaning once the snapshot has ended.
package struct SnapshotDeadline: Sendable {
  private let reader: ReaderSlot

  init(_ reader: ReaderSlot) { self.reader = reader }

  /// - Throws: `deadline` when the snapshot is older than the options' deadline for readers and somebody has written
  ///   since: it keeps pages from being used again.
  package func check() throws(StoreError) { try reader.check() }
}
