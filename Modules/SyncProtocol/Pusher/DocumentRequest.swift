import CRDTCore
import DocStore

/// A document that the peer asked for or told of, to be answered from the state it has by then.
struct DocumentRequest {
  @TextKey var collection: String
  let id: DocumentID
  /// What the peer has.
  let vector: VersionVector
  /// The peer's state, where it told of it: nothing is owed when it is the same here.
  var hash: UInt64?
  /// Whether the peer holds the document under its interest.
  var isHeld: Bool
  /// Whether the peer's own document is being answered, and with which of its frames that began to come.
  var isReply: Bool { begun != nil }
  var begun: UInt64?

  var name: DocumentName { DocumentName(collection: collection, id: id) }

  /// About how many bytes it takes: a vector is as long as the peer makes it.
  var cost: Int { (5 + vector.elements.count) * 32 }

  init(collection: String, id: DocumentID, vector: VersionVector, isHeld: Bool) {
    (self.collection, self.id, self.vector, self.isHeld) = (collection, id, vector, isHeld)
  }

  init(_ want: DocumentWant) {
    collection = want.collection
    id = want.id
    vector = want.vector
    isHeld = want.isHeld || !want.vector.isEmpty
  }

  init(_ have: DocumentHave) {
    collection = have.collection
    id = have.id
    vector = have.vector
    hash = have.hash
    isHeld = true
  }

  /// Only what the peer holds under its interest, or what matches that, is sent back.
  init(_ owed: OwedDocument, begunWith frame: UInt64) {
    collection = owed.version.collection
    id = owed.version.id
    vector = owed.version.vector
    isHeld = owed.isHeld
    begun = frame
  }
}

/// Requests that are answered together.
struct RequestGroup {
  /// All become visible together, with what recent transactions bind to them.
  var requests: [DocumentRequest]
  /// Whether they were announced: the peer writes none of them itself.
  var isPull = false
  /// What binds them until the answer is applied, where the peer has left out a group of them.
  var binding: UInt64?
  /// How many had come before.
  var number: UInt64 = 0

  /// About how many bytes they take.
  var cost: Int { requests.reduce(0) { $0 + $1.cost } }
}

/// Why a document goes out, and so what it builds on.
enum Inclusion {
  /// The peer has nothing of it, as far as is known: the whole document, if it matches.
  case whole
  case requested(DocumentRequest)
  /// The peer follows this store's log, and has met what was written here up to a reading.
  case unasked(after: ClockReading)
}

/// A live change, evaluated when it was committed and encoded when the link has room.
struct LiveDocument {
  let change: Change
  /// What it was changed to.
  let record: Record
  let base: VersionVector
  /// Whether it matches the peer's interest no longer.
  let leaves: Bool
  let isHeld: Bool
  /// The one write that it was, for a peer that has just what the document was before.
  let successor: WireSuccessor?
  /// What to tell where it is announced.
  let news: News

  var collection: Collection { change.collection }
  var id: DocumentID { change.id }
  var sites: SiteTable { change.sites }
  var key: DocumentKey { change.key }
}

/// What one transaction changed of the peer's interest.
struct LiveGroup {
  let sequence: UInt64
  var documents: [LiveDocument] = []
  var byteCount = 0
  /// Whether the peer may lack something that an earlier transaction bound to one of these documents.
  var mustKeepOrder = false
  /// Whether one of these documents matches the interest no longer: who has left the group out and asks for it without
  /// holding the document would get nothing.
  var leaves = false
  /// Whether the peer can apply the group whatever it has.
  var isSelfContained = true
  /// Whether another peer brought it.
  let isForwarded: Bool
  /// The reconciliation since which the peer got documents in the order of their commits only; `nil` during one.
  let round: UInt64?

  /// The sum of a document's record, where the peer may come to another, or have another of the same version: nobody has
  /// what was just written here.
  func summary(of document: borrowing LiveDocument, _ view: borrowing RecordView) -> Summary? {
    document.base.isEmpty && !isForwarded && !view.isDefault ? nil : document.change.afterSummary
  }

  init(sequence: UInt64, round: UInt64?, isForwarded: Bool) {
    self.sequence = sequence
    self.isForwarded = isForwarded
    self.round = round
  }
}
