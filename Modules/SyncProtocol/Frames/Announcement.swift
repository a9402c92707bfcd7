package import CRDTCore

/// Announces a change that the receiver may already have from another peer (lazy push).
package struct AnnouncedDocument: Hashable, Sendable {
  @TextKey package var collection: String
  package var id: DocumentID
  /// The versions that include the change: a receiver that has all of them, or later ones, has the change.
  ///
  /// If ``isHeld``, this is the whole version vector of the sender's state.
  package var vector: VersionVector
  /// The hash of the sender's state, if no vector describes the change, or if the whole vector is sent.
  package var hash: UInt64?
  /// Whether the sender now holds the document under its own interest, and wants what it lacks.
  package var isHeld: Bool
  /// Whether the document ceased to match the receiver's interest.
  ///
  /// Then it concerns only a receiver that holds the document.
  package var leaves: Bool

  /// Makes an announcement of a document that the gate lets through.
  package init(
    _ cleared: consuming Cleared, id: DocumentID, vector: VersionVector, hash: UInt64? = nil,
    isHeld: Bool = false, leaves: Bool = false
  ) {
    self.init(
      collection: cleared.collection, id: id, vector: vector, hash: hash, isHeld: isHeld, leaves: leaves)
  }

  private init(
    collection: String, id: DocumentID, vector: VersionVector, hash: UInt64?, isHeld: Bool, leaves: Bool
  ) {
    self.collection = collection
    self.id = id
    self.vector = vector
    self.hash = hash
    self.isHeld = isHeld
    self.leaves = leaves
  }

  private static let heldFlag: UInt8 = 1
  private static let leavesFlag: UInt8 = 2
  private static let hashFlag: UInt8 = 4

  /// Approximate bytes on the wire, without the sites.
  package var byteCount: Int { id.bytes.count + 4 + 12 * vector.elements.count + (hash == nil ? 0 : 8) }

  /// The maximum of its bytes, including its sites and the name of its collection.
  fileprivate var mostBytes: Int {
    id.bytes.count + collection.utf8.count + 14 + 40 * vector.elements.count + (hash == nil ? 0 : 8)
  }

  fileprivate func encode(
    to out: inout ByteWriter, _ previous: inout String?, _ times: inout UInt64, _ sites: [SiteID: Int]
  ) {
    out.writeCollection(collection, after: &previous)
    out.writeBlob(id.bytes)
    out.write(
      (isHeld ? Self.heldFlag : 0) | (leaves ? Self.leavesFlag : 0) | (hash == nil ? 0 : Self.hashFlag))
    out.writeVarint(vector.elements.count)
    for element in vector.elements {
      out.writeVarint(sites[element.writer.site] ?? 0)
      for reading in [element.writer.birth, element.reading] {
        out.writeSignedVarint(Int64(bitPattern: reading.rawValue &- times))
        times = reading.rawValue
      }
    }
    if let hash { out.writeFixed(hash) }
  }

  fileprivate init(
    from reader: inout ByteReader, _ previous: inout String?, _ times: inout UInt64, _ sites: [SiteID]
  ) throws(CodecError) {
    collection = try reader.readCollection(after: &previous)
    id = try reader.readDocumentID()
    let flags = try reader.readByte()
    guard flags & ~(Self.heldFlag | Self.leavesFlag | Self.hashFlag) == 0 else {
      throw reader.failure(.malformed, "an announcement has unknown flags")
    }
    isHeld = flags & Self.heldFlag != 0
    leaves = flags & Self.leavesFlag != 0
    var elements: [VersionVector.Element] = []
    for _ in 0..<(try reader.readWriterCount(minimumBytes: 3)) {
      let site = try reader.readVarint()
      guard site < UInt64(sites.count) else {
        throw reader.failure(.malformed, "an announcement names an unknown site")
      }
      times &+= UInt64(bitPattern: try reader.readSignedVarint())
      let writer = Writer(site: sites[Int(site)], birth: ClockReading(rawValue: times))
      times &+= UInt64(bitPattern: try reader.readSignedVarint())
      let reading = ClockReading(rawValue: times)
      guard writer.birth > .zero, reading >= writer.birth, elements.last.map({ $0.writer < writer }) ?? true
      else { throw reader.failure(.malformed, "an announced vector is not in order") }
      elements.append(VersionVector.Element(writer: writer, reading: reading))
    }
    vector = VersionVector(elements)
    hash = flags & Self.hashFlag != 0 ? try reader.readFixed() : nil
    guard hash != nil || !vector.isEmpty else {
      throw reader.failure(.malformed, "an announcement tells of no change")
    }
  }
}

/// Transactions that a sender announces instead of sending them.
package struct Announcement: Hashable, Sendable {
  package var transactions: [[AnnouncedDocument]]

  package init(_ transactions: [[AnnouncedDocument]]) { self.transactions = transactions }

  /// Returns whether an announced transaction fits into one frame, as it must.
  package static func fits(_ transaction: [AnnouncedDocument]) -> Bool {
    if mostBytes(of: transaction) <= SyncLimits.announcedTransactionBytes { return true }
    var out = ByteWriter(capacity: SyncLimits.announcedTransactionBytes)
    Announcement([transaction]).encode(to: &out)
    return out.count <= SyncLimits.announcedTransactionBytes
  }

  /// Returns the transactions divided into frames.
  package static func frames(_ transactions: [[AnnouncedDocument]]) -> [Announcement] {
    transactions.chunks(of: 48 << 10, size: mostBytes).map { Announcement(Array($0)) }
  }

  private static func mostBytes(of transaction: [AnnouncedDocument]) -> Int {
    transaction.reduce(8) { $0 + $1.mostBytes }
  }

  package func encode(to out: inout ByteWriter) {
    var sites: [SiteID: Int] = [:]
    var order: [SiteID] = []
    for element in transactions.joined().flatMap(\.vector.elements) where sites[element.writer.site] == nil {
      sites[element.writer.site] = order.count
      order.append(element.writer.site)
    }
    out.writeVarint(order.count)
    for site in order { out.write(site) }
    out.writeVarint(transactions.count)
    var previous: String?
    var times: UInt64 = 0
    for transaction in transactions {
      out.writeVarint(transaction.count)
      for document in transaction { document.encode(to: &out, &previous, &times, sites) }
    }
  }

  package init(from reader: inout ByteReader) throws(CodecError) {
    var sites: [SiteID] = []
    for _ in 0..<(try reader.readCount(minimumBytes: 16)) { sites.append(try reader.readSite()) }
    transactions = []
    var previous: String?
    var times: UInt64 = 0
    for _ in 0..<(try reader.readCount(minimumBytes: 6)) {
      let count = try reader.readCount(minimumBytes: 5)
      guard count >= 1 else { throw reader.failure(.malformed, "an announced group is empty") }
      var transaction: [AnnouncedDocument] = []
      transaction.reserveCapacity(count)
      for _ in 0..<count {
        transaction.append(try AnnouncedDocument(from: &reader, &previous, &times, sites))
      }
      transactions.append(transaction)
    }
  }
}

/// A PRUNE: what a receiver wants announced from now on, and which announcements it has settled.
package struct Prune: Hashable, Sendable {
  /// Whether to announce forwarded changes instead of sending them.
  package var forwards: Bool
  /// Whether to announce the sender's own writes, too.
  package var own: Bool
  /// Announced transactions settled, as a total of the session: this peer lacks nothing of them.
  package var settled: UInt64

  package init(forwards: Bool = false, own: Bool = false, settled: UInt64) {
    self.forwards = forwards
    self.own = own
    self.settled = settled
  }

  package func encode(to out: inout ByteWriter) {
    out.write((forwards ? 1 : 0) | (own ? 2 : 0) as UInt8)
    out.writeVarint(settled)
  }

  package init(from reader: inout ByteReader) throws(CodecError) {
    let flags = try reader.readByte()
    guard flags & ~3 == 0 else { throw reader.failure(.malformed, "a pruning has unknown flags") }
    forwards = flags & 1 != 0
    own = flags & 2 != 0
    settled = try reader.readVarint()
  }
}
