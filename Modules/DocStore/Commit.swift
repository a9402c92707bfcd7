public import CRDTCore

/// Who wrote a transaction: the application, or a sync session.
public enum Origin: Hashable, Sendable {
  case user
  case session(UInt64)
}

extension Origin: CustomStringConvertible {
  public var description: String {
    switch self {
    case .user: "User"
    case .session: "Replication"
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
  public let collection: String
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

  public let collection: Collection
  public let id: DocumentID
  public let kind: Kind
  /// The sequence of the document's group.
  public let sequence: UInt64
  /// What was stored before; `nil` when the document was unknown here.
  public let before: Record?
  /// What is stored now, maybe a tombstone; `nil` after an eviction.
  public let after: Record?
  public let beforeSummary: Summary?
  public let afterSummary: Summary?
  /// The sites that both records refer to.
  public let sites: SiteTable
  /// Changes of one group become visible together at a receiver; counts from 0 within the commit.
  public let group: Int
  /// Whether the document is too large to be sent.
  public let oversize: Bool

  package init(
    collection: Collection, id: DocumentID, kind: Kind, sequence: UInt64, before: Record?, after: Record?,
    beforeSummary: Summary?, afterSummary: Summary?, sites: SiteTable, group: Int, oversize: Bool
  ) {
    self.collection = collection
    self.id = id
    self.kind = kind
    self.sequence = sequence
    self.before = before
    self.after = after
    self.beforeSummary = beforeSummary
    self.afterSummary = afterSummary
    self.sites = sites
    self.group = group
    self.oversize = oversize
  }

  public var key: DocumentKey { DocumentKey(collection: collection.id, id: id) }
}
