package import CRDTCore

/// A receiver's request for what a document has beyond a version vector.
package struct DocumentWant: Hashable, Sendable {
  @TextKey package var collection: String
  package var id: DocumentID
  /// The receiver's version; empty when it has nothing, or only default data.
  package var vector: VersionVector
  /// Whether the receiver holds the document under its interest.
  ///
  /// Then the receiver gets the document even if it does not match.
  package var isHeld: Bool

  /// Makes a request that includes the local version, of a document that the gate lets through.
  package init(_ cleared: consuming Cleared, id: DocumentID, vector: VersionVector, isHeld: Bool = false) {
    self.init(collection: cleared.collection, id: id, vector: vector, isHeld: isHeld)
  }

  /// Makes a request that discloses no version: the answer is the full state.
  package init(whole id: DocumentID, in collection: String, isHeld: Bool = false) {
    self.init(collection: collection, id: id, vector: VersionVector(), isHeld: isHeld)
  }

  fileprivate init(collection: String, id: DocumentID, vector: VersionVector, isHeld: Bool) {
    self.collection = collection
    self.id = id
    self.vector = vector
    self.isHeld = isHeld
  }
}

extension DocumentWant {
  /// Makes a request for a document, and discloses the local version if the gate lets it through.
  ///
  /// - Parameters:
  ///   - version: The document, with the local version.
  ///   - isHeld: Whether the document matches this peer's interest.
  ///   - isReadable: Whether the other peer may read the local copy.
  ///   - gatekeeper: The gate.
  init(_ version: DocumentVersion, isHeld: Bool = false, isReadable: Bool, _ gatekeeper: Gatekeeper?) {
    if let cleared = gatekeeper?.clear(version.collection, all: isReadable) {
      self.init(cleared, id: version.id, vector: version.vector, isHeld: isHeld)
    } else {
      self.init(whole: version.id, in: version.collection, isHeld: true)
    }
  }
}

/// The version of a document that some peer has; used in memory, not on the wire.
struct DocumentVersion: Hashable, Sendable {
  @TextKey private(set) var collection: String
  let id: DocumentID
  /// Empty if nothing is known, or if there is only default data.
  var vector = VersionVector()
  /// Whether there is default data, which no version vector includes.
  var isDefault = false
}

/// The requests of one `want` frame.
package struct WantList: Hashable, Sendable {
  /// The reconciliation that they belong to; 0 outside of one.
  package var reconciliation: UInt64
  /// How many of the sender's transactions the receiver had applied.
  package var seen: UInt64
  /// Whether the documents must become visible together.
  package var isTransaction: Bool
  /// Whether this is a GRAFT: the sender switches from announcements to eager push.
  package var isGraft: Bool
  /// Whether the next list continues the same transaction.
  package var goesOn: Bool
  package var wants: [DocumentWant]

  package init(
    reconciliation: UInt64, seen: UInt64 = 0, isTransaction: Bool, isGraft: Bool = false,
    goesOn: Bool = false,
    wants: [DocumentWant]
  ) {
    self.reconciliation = reconciliation
    self.seen = seen
    self.isTransaction = isTransaction
    self.isGraft = isGraft
    self.goesOn = goesOn
    self.wants = wants
  }

  package func encode(to out: inout ByteWriter) {
    out.writeVarint(reconciliation)
    out.writeVarint(seen)
    out.write((isTransaction ? 1 : 0) | (isGraft ? 2 : 0) | (goesOn ? 4 : 0) as UInt8)
    out.writeVarint(wants.count)
    var previous: String?
    for want in wants {
      out.writeCollection(want.collection, after: &previous)
      out.writeBlob(want.id.bytes)
      out.write(want.isHeld ? 1 as UInt8 : 0)
      want.vector.encode(to: &out)
    }
  }

  package init(from reader: inout ByteReader) throws(CodecError) {
    reconciliation = try reader.readVarint()
    seen = try reader.readVarint()
    let flags = try reader.readByte()
    guard flags & ~7 == 0 else { throw reader.failure(.malformed, "wants have unknown flags") }
    isTransaction = flags & 1 != 0
    isGraft = flags & 2 != 0
    goesOn = flags & 4 != 0
    wants = []
    var previous: String?
    for _ in 0..<(try reader.readCount(minimumBytes: 5)) {
      let collection = try reader.readCollection(after: &previous)
      let id = try reader.readDocumentID()
      let isHeld = try reader.readFlag()
      wants.append(
        DocumentWant(collection: collection, id: id, vector: try VersionVector(from: &reader), isHeld: isHeld)
      )
    }
  }
}

/// A receiver's notice that it holds a document.
///
/// It offers the document to a peer that is interested, and asks a peer that may have more of it.
package struct DocumentHave: Hashable, Sendable {
  @TextKey package var collection: String
  package var id: DocumentID
  package var hash: UInt64
  package var vector: VersionVector

  /// Makes a notice about a document that the gate lets through.
  package init(_ cleared: consuming Cleared, id: DocumentID, hash: UInt64, vector: VersionVector) {
    self.init(collection: cleared.collection, id: id, hash: hash, vector: vector)
  }

  private init(collection: String, id: DocumentID, hash: UInt64, vector: VersionVector) {
    self.collection = collection
    self.id = id
    self.hash = hash
    self.vector = vector
  }

  /// Appends notices.
  ///
  /// - Parameters:
  ///   - haves: The notices.
  ///   - reconciliation: Their reconciliation; 0 outside of one.
  ///   - seen: How many of the sender's transactions the receiver had applied.
  ///   - out: Where to append them.
  package static func encode(
    _ haves: [DocumentHave], reconciliation: UInt64, seen: UInt64, to out: inout ByteWriter
  ) {
    out.writeVarint(reconciliation)
    out.writeVarint(seen)
    out.writeVarint(haves.count)
    var previous: String?
    for have in haves {
      out.writeCollection(have.collection, after: &previous)
      out.writeBlob(have.id.bytes)
      out.writeFixed(have.hash)
      have.vector.encode(to: &out)
    }
  }

  package static func decode(
    from reader: inout ByteReader
  ) throws(CodecError) -> (reconciliation: UInt64, seen: UInt64, haves: [DocumentHave]) {
    let reconciliation = try reader.readVarint()
    let seen = try reader.readVarint()
    var haves: [DocumentHave] = []
    var previous: String?
    for _ in 0..<(try reader.readCount(minimumBytes: 12)) {
      let collection = try reader.readCollection(after: &previous)
      haves.append(
        DocumentHave(
          collection: collection, id: try reader.readDocumentID(), hash: try reader.readFixed(),
          vector: try VersionVector(from: &reader)))
    }
    return (reconciliation, seen, haves)
  }
}

/// A sender's notice of a document that the peer may hold.
///
/// The sender's own copy does not match the peer's interest.
package struct DocumentOffer: Hashable, Sendable {
  @TextKey package var collection: String
  package var item: DocumentHash

  /// Makes an offer of a document that the gate lets through.
  package init(_ cleared: consuming Cleared, item: DocumentHash) {
    self.init(collection: cleared.collection, item: item)
  }

  private init(collection: String, item: DocumentHash) {
    self.collection = collection
    self.item = item
  }

  package static func encode(_ offers: [DocumentOffer], to out: inout ByteWriter) {
    out.writeVarint(offers.count)
    var previous: String?
    for offer in offers {
      out.writeCollection(offer.collection, after: &previous)
      out.writeBlob(offer.item.id.bytes)
      out.writeFixed(offer.item.hash)
    }
  }

  package static func decode(from reader: inout ByteReader) throws(CodecError) -> [DocumentOffer] {
    var offers: [DocumentOffer] = []
    var previous: String?
    for _ in 0..<(try reader.readCount(minimumBytes: 11)) {
      let collection = try reader.readCollection(after: &previous)
      let item = DocumentHash(id: try reader.readDocumentID(), hash: try reader.readFixed())
      offers.append(DocumentOffer(collection: collection, item: item))
    }
    return offers
  }
}
