public import CRDTCore

/// Who wrote a transaction.
public enum Origin: Hashable, Sendable {
  /// The application.
  case user
  /// Somebody elsewhere, whose writes come through one of several sources, such as sync sessions; the number tells the
  /// sources apart, and means nothing else to the store.
  case remote(UInt64)
}

extension Origin: CustomStringConvertible {
  public var description: String {
    switch self {
    case .user: "User"
    case .remote: "Replication"
    }
  }
}

/// What a writer learns once its transaction is durable.
public struct CommitReceipt: Hashable, Sendable {
  /// The transaction's place in the store's log; 0 when it changed nothing.
  public let sequence: UInt64
  /// A random number that names the commit; 0 when it changed nothing.
  public let id: UInt64
  /// Documents that this transaction wrote and that are too large to be sent.
  public let oversize: [OversizeDocument]

  package init(sequence: UInt64 = 0, id: UInt64 = 0, oversize: [OversizeDocument] = []) {
    self.sequence = sequence
    self.id = id
    self.oversize = oversize
  }
}

/// A document above the hard size limit: kept here, never sent.
public struct OversizeDocument: Hashable, Sendable {
  @TextKey public private(set) var collection: String
  public let id: DocumentID
  public let byteCount: Int

  package init(collection: String, id: DocumentID, byteCount: Int) {
    self.collection = collection
    self.id = id
    self.byteCount = byteCount
  }
}

/// One durable transaction, with each touched document before and after.
public struct Commit: Sendable {
  /// The transaction's place in the store's log: the last one, where it holds several groups.
  public let sequence: UInt64
  public let id: UInt64
  public let origin: Origin
  /// In the order of the first touch, group by group.
  public let changes: [Change]
  /// Rises with every transaction that evicts.
  public let evictionEpoch: UInt64

  package init(sequence: UInt64, id: UInt64, origin: Origin, changes: [Change], evictionEpoch: UInt64) {
    self.sequence = sequence
    self.id = id
    self.origin = origin
    self.changes = changes
    self.evictionEpoch = evictionEpoch
  }
}

/// What a commit did to one document.
public final class Change: Sendable {
  public enum Kind: Hashable, Sendable {
    /// A local write or a merge.
    case write
    /// The document left this store only.
    case evict
  }

  /// The document, by its collection's number.
  public let key: DocumentKey
  public let kind: Kind
  /// The sequence of the document's group.
  public let sequence: UInt64
  /// What was stored before; `nil` when the document was unknown here.
  public let before: Record?
  /// What is stored now, maybe a tombstone; `nil` after an eviction.
  public let after: Record?
  public let beforeSummary: Summary?
  public let afterSummary: Summary?
  /// Changes of one group become visible together at a receiver; counts from 0 within the commit.
  public let group: Int
  /// Whether the document is too large to be sent.
  public let oversize: Bool
  /// Whether it was too large to be sent before: nobody can build on what is here of it.
  package let wasOversize: Bool
  /// The document's number, once it is stored.
  let number: DocumentNumber
  let names: CommitNames

  /// What became of a document; the records are copied only where somebody listens to commits.
  init(
    _ key: DocumentKey, number: DocumentNumber, kind: Kind, sequence: UInt64, group: Int,
    before: Record?, beforeSummary: Summary?, after: Record? = nil, afterSummary: Summary? = nil,
    oversize: Bool = false, wasOversize: Bool = false, names: CommitNames
  ) {
    self.key = key
    self.number = number
    self.kind = kind
    self.sequence = sequence
    self.group = group
    self.before = before
    self.beforeSummary = beforeSummary
    self.after = after
    self.afterSummary = afterSummary
    self.oversize = oversize
    self.wasOversize = wasOversize
    self.names = names
  }

  public var id: DocumentID { key.id }
  /// The document's collection; for many changes in turn, `key` tells faster whether it is the same one.
  public var collection: Collection { names.collection(key.collection) }
  /// The sites that both records refer to.
  public var sites: SiteTable { unsafe names.sites }
}

/// What the records of a commit's changes refer to: the field names of their collections, and sites.
///
/// A transaction may add to them until it ends, so that its changes share them, and they are told once for all.
// SAFETY: they are told on the writer's thread, before the commit is handed to anybody else, and not again after that.
final class CommitNames: @unchecked Sendable {
  @exclusivity(unchecked) private var collections: [Collection] = []
  @exclusivity(unchecked) private(set) var sites = SiteTable()

  /// All of the store's collections, each at its number less one.
  func tell(_ collections: [Collection], _ sites: SiteTable) {
    unsafe self.collections = collections
    unsafe self.sites = sites
  }

  func collection(_ number: UInt32) -> Collection { unsafe collections[Int(number) - 1] }
}
