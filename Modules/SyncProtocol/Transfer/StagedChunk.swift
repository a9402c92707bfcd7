import CRDTCore
import DocStore

/// A chunk of a large transaction that is arriving, to be staged in the store.
///
/// The first chunk of a transfer is the site of the peer that sends it; the others are its bytes, in order.
struct StagedChunk: Sendable {
  /// The high half of the names of all transfers in the store.
  private static let mark: UInt64 = 0x7472_616E_7366_6572

  let id: StagingID
  let number: UInt32
  let bytes: [UInt8]
  /// How many documents the store had erased when the transfer began.
  let erasedCount: UInt64

  static func name(_ low: UInt64) -> StagingID { StagingID(high: mark, low: low) }
  static func isTransfer(_ id: StagingID) -> Bool { id.high == mark }

  /// Stages the chunk, unless a document was erased since the transfer began, which may be in it.
  func put(in write: WriteTransaction, _ erased: ErasedDocuments, _ staged: StagedDocuments) throws {
    guard erased.count == erasedCount else { return }
    staged.forget(id)
    // Without room for it, the rest is sent again after a restart.
    _ = try write.stage(bytes, as: number, of: id)
  }

  /// Reads what an earlier process has staged, up to the first gap.
  static func transfer(
    _ id: StagingID, in snapshot: borrowing ReadTransaction, at now: Duration
  ) throws -> StagedTransfer? {
    var site: SiteID?
    var bytes: [UInt8] = []
    var next: UInt32 = 0
    try snapshot.forEachStaged(of: id) { number, chunk in
      guard number == next else { return false }
      next += 1
      if number == 0 {
        var reader = ByteReader(chunk.span.bytes)
        site = try reader.readSite()
      } else {
        bytes += chunk
      }
      return bytes.count <= SyncLimits.transactionBytes
    }
    guard let site else { return nil }
    return StagedTransfer(bytes, from: site, kept: id, at: now)
  }
}
