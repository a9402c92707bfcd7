public import CRDTCore

/// Who wrote a transaction.
public enum Origin: Hashable, Sendable {
  /// The application.
  case user
  /// A remote writer; its number distinguishes sources of writes, such as sync sessions.
  ///
  /// The number means nothing else to the store.
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

/// What a writer receives once its transaction is durable.
public struct CommitReceipt: Hashable, Sendable {
  /// The transaction's position in the store's log; 0 when it changed nothing.
  public let sequence: UInt64
  /// A random number that names the commit; 0 when it changed nothing.
  public let id: UInt64
  /// Documents that this transaction wrote and that are too large for a peer that has nothing of them.
  public let oversize: [OversizeDocument]

  package init(sequence: UInt64 = 0, id: UInt64 = 0, oversize: [OversizeDocument] = []) {
    self.sequence = sequence
    self.id = id
    self.oversize = oversize
  }
}

/// A document above the hard size limit: stored here, and not sent to a peer that has nothing of it.
///
/// A peer that has an earlier state gets its changes.
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
  /// The transaction's position in the store's log; the last one if it contains several groups.
  public let sequence: UInt64
  public let id: UInt64
  public let origin: Origin
  /// The changes in the order in which documents were first written, group by group.
  public let changes: [Change]
  /// Increases with every transaction that evicts.
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
    /// The document was removed from this store only.
    case evict
  }

  /// The document's key: the number of its collection, and its id.
  public let key: DocumentKey
  public let kind: Kind
  /// The sequence of the document's group.
  public let sequence: UInt64
  /// The record before the commit; `nil` when the document was unknown to this store.
  public let before: Record?
  /// The record after the commit, which may be a tombstone; `nil` after an eviction.
  public let after: Record?
  public let beforeSummary: Summary?
  public let afterSummary: Summary?
  /// Number of the group within the commit, from 0; a receiver shows the changes of one group together.
  public let group: Int
  /// Whether the document is too large for a peer that has nothing of it.
  public let oversize: Bool
  /// Whether the document was too large to be sent before; if so, nobody can build on its earlier state.
  package let wasOversize: Bool
  /// The document's number, once it is stored.
  let number: DocumentNumber
  let names: CommitNames

  /// Creates a change; the records are copied only if there are listeners for commits.
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
  /// The document's collection; to compare collections in a long list of changes, `key` is faster.
  public var collection: Collection { names.collection(key.collection) }
  /// The sites that both records refer to.
  public var sites: SiteTable { unsafe names.sites }
}

/// What the records of a commit's changes refer to: the field names of their collections, and sites.
///
/// A transaction may add names until it ends. All changes of the transaction share this object, which is
/// filled once.
// SAFETY: it is filled on the writer's thread, before the commit is handed to anybody else, and never changed
// after that.
final class CommitNames: @unchecked Sendable {
  @exclusivity(unchecked) private var collections: [Collection] = []
  @exclusivity(unchecked) private(set) var sites = SiteTable()

  /// Sets all collections of the store, each at its number minus one.
  func tell(_ collections: [Collection], _ sites: SiteTable) {
    unsafe self.collections = collections
    unsafe self.sites = sites
  }

  func collection(_ number: UInt32) -> Collection { unsafe collections[Int(number) - 1] }
}
