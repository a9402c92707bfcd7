import CRDTCore

/// How far a receiver has followed a sender's log, stored by the receiver together with the data.
///
/// Up to ``sequence`` the receiver has everything that concerned it, under its interest and the sender's
/// policy of that time. Up to ``own`` the sender knows everything that it must know of the receiver's log.
package struct SyncCheckpoint: Hashable, Sendable {
  private static let version: UInt8 = 1

  /// The instance of the sender's store; a restored or copied store has another one.
  package var epoch: UInt64
  package var sequence: UInt64
  /// The low word of the id of the sender's commit at ``sequence``.
  package var commitCheck: UInt32
  /// A hash of the policy that decides what the sender may send.
  package var policyHash: UInt64
  /// A hash of the receiver's interest and of the collections that it accepted.
  package var interest: UInt64
  /// The receiver's own sequence number at that time.
  ///
  /// Later writes, changes from other peers and evictions must still be disclosed to the sender.
  package var own: UInt64
  /// The sender's sequence number at the last full reconciliation.
  package var compared: UInt64

  package init(
    epoch: UInt64, sequence: UInt64, commitCheck: UInt32, policyHash: UInt64, interest: UInt64, own: UInt64,
    compared: UInt64
  ) {
    self.epoch = epoch
    self.sequence = sequence
    self.commitCheck = commitCheck
    self.policyHash = policyHash
    self.interest = interest
    self.own = own
    self.compared = compared
  }

  /// The stored form.
  package var bytes: [UInt8] {
    var out = ByteWriter(capacity: 64)
    out.write(Self.version)
    out.writeFixed(epoch)
    out.writeVarint(sequence)
    out.writeFixed(commitCheck)
    out.writeFixed(policyHash)
    out.writeFixed(interest)
    out.writeVarint(own)
    out.writeVarint(compared)
    return out.bytes
  }

  /// Reads a stored checkpoint; `nil` for an unknown version or damaged bytes.
  ///
  /// A peer without a valid checkpoint needs a full reconciliation.
  package init?(_ bytes: [UInt8]) {
    var reader = ByteReader(bytes.span.bytes)
    do {
      guard try reader.readByte() == Self.version else { return nil }
      epoch = try reader.readFixed()
      sequence = try reader.readVarint()
      commitCheck = try reader.readFixed()
      policyHash = try reader.readFixed()
      interest = try reader.readFixed()
      own = try reader.readVarint()
      compared = try reader.readVarint()
    } catch {
      return nil
    }
    guard reader.isAtEnd, compared <= sequence else { return nil }
  }
}
