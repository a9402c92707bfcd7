import CRDTCore
import DocStore

/// A document that the peer requested, holds or sent.
///
/// It is answered with the state at the time of the answer.
struct DocumentRequest {
  @TextKey var collection: String
  let id: DocumentID
  /// The version that the peer has.
  let vector: VersionVector
  /// The hash of the peer's state, if it sent one: an equal state needs no answer.
  var hash: UInt64?
  /// Whether the peer holds the document under its interest.
  var isHeld: Bool
  /// Whether the peer has sent the document, and not asked for it.
  var isReply = false
  /// How many of the transactions sent to the peer it had applied when it sent its request or notice.
  ///
  /// For a document that the peer has sent, it is the number when the first frame of that came, or more.
  let seen: UInt64

  var name: DocumentName { DocumentName(collection: collection, id: id) }

  /// Approximate memory in bytes: the peer decides how long the vector is.
  var cost: Int { (5 + vector.elements.count) * 32 }

  init(collection: String, id: DocumentID, vector: VersionVector, isHeld: Bool, seen: UInt64 = .max) {
    (self.collection, self.id, self.vector, self.isHeld) = (collection, id, vector, isHeld)
    self.seen = seen
  }

  init(_ want: DocumentWant, seen: UInt64) {
    self.seen = seen
    collection = want.collection
    id = want.id
    vector = want.vector
    isHeld = want.isHeld || !want.vector.isEmpty
  }

  init(_ have: DocumentHave, seen: UInt64) {
    self.seen = seen
    collection = have.collection
    id = have.id
    vector = have.vector
    hash = have.hash
    isHeld = true
  }

  /// Makes the answer to a document that the peer has sent.
  ///
  /// A document that the peer does not hold is sent only if it matches.
  init(_ owed: OwedDocument, seen: UInt64) {
    collection = owed.version.collection
    id = owed.version.id
    vector = owed.version.vector
    isHeld = owed.isHeld
    isReply = true
    self.seen = seen
  }
}

/// Requests that are answered together.
struct RequestedTransaction {
  /// The documents, which become visible together with everything that recent transactions bind to them.
  var requests: [DocumentRequest]
  /// Whether they follow an announcement: the peer itself writes none of them.
  var isPull = false
  /// The binding that keeps them together until the answer is applied, if the peer skipped their transaction.
  var binding: UInt64?

  /// Approximate memory in bytes.
  var cost: Int { requests.reduce(0) { $0 + $1.cost } }
}

/// Why a document is sent, and so which base it builds on.
enum Inclusion {
  /// The peer has nothing of it, as far as known: it is sent as full state, if it matches.
  case whole
  case requested(DocumentRequest)
  /// The peer follows this store's log, and has the local writes up to an HLC timestamp.
  case unasked(after: ClockReading)
}

/// A live change, evaluated at its commit and encoded when the link has room.
struct LiveDocument {
  let change: Change
  /// The record after the change.
  let record: Record
  let base: VersionVector
  /// Whether it no longer matches the peer's interest.
  let leaves: Bool
  let isHeld: Bool
  /// The change as an operation delta, for a peer that has exactly the state before it.
  let operationDelta: WireOperationDelta?
  /// What its announcement contains, beside the change.
  let news: News

  var collection: Collection { change.collection }
  var id: DocumentID { change.id }
  var sites: SiteTable { change.sites }
  var key: DocumentKey { change.key }
}

/// The changes of one transaction that concern the peer.
struct LiveTransaction {
  let sequence: UInt64
  var documents: [LiveDocument] = []
  var byteCount = 0
  /// Whether the peer may lack something that an earlier transaction bound to one of these documents.
  var mustKeepOrder = false
  /// Whether one of these documents no longer matches the interest.
  ///
  /// A peer that skips the transaction and requests it without holding the document would get nothing.
  var leaves = false
  /// Whether the peer can apply the transaction with any local state.
  var isSelfContained = true
  /// Whether another peer sent it.
  let isForwarded: Bool
  /// The last reconciliation before the transaction; `nil` during one.
  ///
  /// Since then the peer receives documents in commit order.
  let reconciliation: UInt64?

  /// Returns the summary that lets the receiver check its merged state; `nil` if that cannot differ.
  ///
  /// It can differ if the document has a base, came from another peer, or is default data. No other peer has
  /// a new local document.
  func summary(of document: borrowing LiveDocument, _ view: borrowing RecordView) -> Summary? {
    document.base.isEmpty && !isForwarded && !view.isDefault ? nil : document.change.afterSummary
  }

  init(sequence: UInt64, reconciliation: UInt64?, isForwarded: Bool) {
    self.sequence = sequence
    self.isForwarded = isForwarded
    self.reconciliation = reconciliation
  }
}
