import CRDTCore

/// How far a receiver has followed a sender's log: kept in the receiver's store, in one transaction with the data.
///
/// Up to ``sequence`` the receiver has all that concerned it, under its interest of then and the sender's policy of then;
/// and up to ``own`` it has told the sender all that the sender had to know of the receiver's own log.
package struct SyncCheckpoint: Hashable, Sendable {
  private static let version: UInt8 = 1

  /// The instance of the sender's store: another one after a restore or a copy.
  package var epoch: UInt64
  package var sequence: UInt64
  /// The low word of the id of the sender's commit there.
  package var commitCheck: UInt32
  /// Stands for what the sender might send.
  package var policyPrint: UInt64
  /// Stands for what the receiver asked for, and what it let in.
  package var interest: UInt64
  /// The receiver's own sequence then: what was written, received from others or evicted since is to be told.
  package var own: UInt64
  /// The sender's sequence when all was last compared.
  package var compared: UInt64

  package init(
    epoch: UInt64, sequence: UInt64, commitCheck: UInt32, policyPrint: UInt64, interest: UInt64, own: UInt64,
    compared: UInt64
  ) {
    self.epoch = epoch
    self.sequence = sequence
    self.commitCheck = commitCheck
    self.policyPrint = policyPrint
    self.interest = interest
    self.own = own
    self.compared = compared
  }

  /// Its form in the store.
  package var bytes: [UInt8] {
    var out = ByteWriter(capacity: 64)
    out.write(Self.version)
    out.writeFixed(epoch)
    out.writeVarint(sequence)
    out.writeFixed(commitCheck)
    out.writeFixed(policyPrint)
    out.writeFixed(interest)
    out.writeVarint(own)
    out.writeVarint(compared)
    return out.bytes
  }

  /// Reads a stored one; `nil` for one that this release does not know: then all is compared.
  package init?(_ bytes: [UInt8]) {
    var reader = ByteReader(bytes.span.bytes)
    do {
      guard try reader.readByte() == Self.version else { return nil }
      epoch = try reader.readFixed()
      sequence = try reader.readVarint()
      commitCheck = try reader.readFixed()
      policyPrint = try reader.readFixed()
      interest = try reader.readFixed()
      own = try reader.readVarint()
      compared = try reader.readVarint()
    } catch {
      return nil
    }
    guard reader.isAtEnd, compared <= sequence else { return nil }
  }
}
