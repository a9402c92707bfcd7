package import CRDTCore

/// A sender's notice that the peer may not read a document, of which the peer has a copy.
///
/// The receiver evicts its copy if the sender is known to have all of it: nothing of the copy is beyond the
/// named version. So the receiver loses nothing that only it has, and a copy that it has changed since stays
/// until the sender has merged the change and withdraws the document again. The notice shows nothing of the
/// state that the peer may not read.
package struct Withdrawal: Hashable, Sendable {
  @TextKey package private(set) var collection: String
  package let id: DocumentID
  /// A version that the peer could read or has itself named.
  ///
  /// It is empty if the peer is to name the one that it has.
  package let known: VersionVector

  /// Makes a notice that the gate lets through.
  package init(_ cleared: consuming Cleared, id: DocumentID, known: VersionVector) {
    self.init(collection: cleared.collection, id: id, known: known)
  }

  private init(collection: String, id: DocumentID, known: VersionVector) {
    self.collection = collection
    self.id = id
    self.known = known
  }

  package static func encode(_ withdrawals: [Withdrawal], to out: inout ByteWriter) {
    out.writeVarint(withdrawals.count)
    var previous: String?
    for withdrawal in withdrawals {
      out.writeCollection(withdrawal.collection, after: &previous)
      out.writeBlob(withdrawal.id.bytes)
      withdrawal.known.encode(to: &out)
    }
  }

  package static func decode(from reader: inout ByteReader) throws(CodecError) -> [Withdrawal] {
    var withdrawals: [Withdrawal] = []
    var previous: String?
    for _ in 0..<(try reader.readCount(minimumBytes: 4)) {
      let collection = try reader.readCollection(after: &previous)
      let id = try reader.readDocumentID()
      withdrawals.append(
        Withdrawal(collection: collection, id: id, known: try VersionVector(from: &reader)))
    }
    return withdrawals
  }
}
