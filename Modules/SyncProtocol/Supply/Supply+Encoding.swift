import CRDTCore
import DocStore

/// What the records of one collection need to be encoded, taken once for a snapshot.
struct Encoding {
  let collection: Collection
  let tables: RecordTables
  /// What of it this peer subscribes to itself.
  let own: CollectionInterest?

  init(_ collection: Collection, sites: SiteTable, own: CollectionInterest? = nil) {
    self.collection = collection
    self.own = own
    tables = RecordTables(keys: collection.keys, sites: sites)
  }

  /// What the receiver is told of a document: whether it is held here under this peer's own interest.
  func flags(_ id: RawSpan, _ record: borrowing RecordView) -> UInt8 {
    own?.matches(id, record) == true ? GroupEncoder.heldFlag : 0
  }
}

extension Supply {
  func makeEncoding(_ collection: Collection, _ transaction: borrowing ReadTransaction) -> Encoding {
    Encoding(collection, sites: transaction.sites, own: ownInterest(collection))
  }

  /// Sends one matching document whole, as a group of its own.
  func addAlone(_ id: RawSpan, _ record: borrowing RecordView, _ encoding: Encoding) throws {
    guard let cleared = gatekeeper?.clear(encoding.collection.name) else { return }
    var group = GroupEncoder()
    let tooLarge = try group.append(
      cleared, id: id.copied, flags: encoding.flags(id, record), record: record, base: VersionVector(),
      tables: encoding.tables,
      limit: context.documentLimit)
    if let tooLarge {
      let key = DocumentKey(collection: encoding.collection.id, id: DocumentID(trusted: id.copied))
      context.tellOversize(key, in: encoding.collection.name, byteCount: tooLarge)
    } else {
      outgoing.add(group)
    }
  }

  /// Sends documents from one snapshot as one group, as far as they concern the peer.
  ///
  /// Unless it `mayOvertake`, the group goes out after the large ones that are waiting.
  func add(
    _ documents: [(DocumentKey, Inclusion)], _ transaction: borrowing ReadTransaction,
    mayOvertake: Bool = true
  ) throws {
    var batch = GroupBatch(context, outgoing, mayOvertake: mayOvertake)
    var encoding: Encoding?
    for (key, inclusion) in documents {
      if encoding?.collection.id != key.collection {
        encoding = try transaction.collection(number: key.collection).map { makeEncoding($0, transaction) }
      }
      guard let encoding else { continue }
      if !oversize.isEmpty, oversize.contains(key) { continue }
      let matcher = interest.matcher(for: encoding.collection)
      try transaction.withRecord(encoding.collection, key.id) { record, summary in
        let flags = encoding.flags(key.id.bytes.span.bytes, record)
        let isMatch = matcher?.matches(key.id.bytes.span.bytes, record) ?? false
        switch inclusion {
        case .whole:
          guard isMatch else { return }
          try batch.append(gatekeeper, key, record, base: VersionVector(), encoding, flags: flags)
        case .requested(let request):
          if !isMatch { watch.insert(key) }
          guard isMatch || request.isHeld else { return }
          if let hash = request.hash, hash == Fingerprint.hash(id: key.id.bytes.span.bytes, summary: summary)
          {
            return
          }
          // Equal vectors with other content call for the whole state, by which the receiver settles it.
          let mine = try record.vector(sites: encoding.tables.sites)
          try batch.append(
            gatekeeper, key, record, base: mine == request.vector ? VersionVector() : request.vector,
            encoding,
            flags: flags | (request.isReply ? GroupEncoder.replyFlag : 0))
        }
      }
    }
    batch.finish()
  }
}

/// A group that is being encoded, cut in parts should it become too large for a receiver's memory.
struct GroupBatch {
  private let context: SessionContext
  private let outgoing: Outgoing
  private let mayOvertake: Bool
  private let sequence: UInt64
  private var group = GroupEncoder()
  private var partCount = 0
  private var documents = 0
  private var bytes = 0

  init(_ context: SessionContext, _ outgoing: Outgoing, sequence: UInt64 = 0, mayOvertake: Bool) {
    self.context = context
    self.outgoing = outgoing
    self.sequence = sequence
    self.mayOvertake = mayOvertake
  }

  mutating func append(
    _ gatekeeper: Gatekeeper?, _ key: DocumentKey, _ record: borrowing RecordView, base: VersionVector,
    _ encoding: Encoding, flags: UInt8 = 0
  ) throws(CodecError) {
    guard let cleared = gatekeeper?.clear(encoding.collection.name) else { return }
    makeRoom()
    let before = group.byteCount
    let tooLarge = try group.append(
      cleared, id: key.id.bytes, flags: flags, record: record, base: base, tables: encoding.tables,
      limit: context.documentLimit)
    if let tooLarge {
      context.tellOversize(key, in: encoding.collection.name, byteCount: tooLarge)
    } else {
      documents += 1
      bytes += group.byteCount - before
    }
  }

  /// Adds a document that is encoded already.
  mutating func append(_ gatekeeper: Gatekeeper?, _ document: LiveDocument, wire: [UInt8], flags: UInt8) {
    guard let cleared = gatekeeper?.clear(document.collection.name) else { return }
    makeRoom()
    let before = group.byteCount
    group.append(cleared, id: document.id.bytes, flags: flags, wire: wire)
    documents += 1
    bytes += group.byteCount - before
  }

  private mutating func makeRoom() {
    if group.byteCount >= context.tuning.splitBytes || group.documentCount >= context.tuning.splitDocuments {
      flush()
    }
  }

  private mutating func flush() {
    guard !group.isEmpty else { return }
    outgoing.add(group, sequence: sequence, mayOvertake: mayOvertake && partCount == 0)
    group = GroupEncoder()
    partCount += 1
  }

  /// - Returns: Whether anything goes out.
  @discardableResult
  mutating func finish() -> Bool {
    flush()
    if partCount > 1 { context.tell(.groupSplit(documents: documents, byteCount: bytes)) }
    return partCount > 0
  }
}
