import CRDTCore
import DocStore

/// What applications did and were told: the memory against which the world is judged.
package final class Ledger {
  /// Whether the reference model follows what is written.
  private let isModelled: Bool
  private(set) var transactions: [LedgerTransaction] = []
  /// Documents that somebody evicted, and with them maybe what nobody else had.
  private(set) var evicted: Set<DocumentName> = []
  /// What each peer evicted and has not written since.
  private(set) var evictedBy: [Int: Set<DocumentName>] = [:]
  private var marks = 0
  /// Transactions that leave marks, by the documents that they are to mark.
  private(set) var marked: [DocumentName: [LedgerTransaction]] = [:]

  /// Transactions that leave marks, at most: each mark stays in its documents.
  private static let markLimit = 60

  init(_ script: Script) { isModelled = script.isModelled }

  func begin(_ edits: [EditPlan], at peer: SimPeer) -> LedgerTransaction {
    let isMarked = edits.count > 1 && marks < Self.markLimit
    if isMarked { marks += 1 }
    let transaction = LedgerTransaction(
      transactions.count, at: peer.number, mark: isMarked ? marks : nil, isModelled: isModelled)
    transaction.documents = edits.map(\.document)
    transactions.append(transaction)
    if isMarked { for name in Set(edits.map(\.document)) { marked[name, default: []].append(transaction) } }
    for edit in edits { evictedBy[peer.number]?.remove(edit.document) }
    return transaction
  }

  func end(_ transaction: LedgerTransaction, _ result: Result<CommitReceipt, any Error>, at peer: SimPeer) {
    switch result {
    case .success: transaction.outcome = .acknowledged
    case .failure: transaction.outcome = .refused
    }
  }

  func willEvict(_ documents: [DocumentName]) { evicted.formUnion(documents) }

  /// An eviction is durable, which was asked for when there were so many transactions.
  func didEvict(_ documents: [DocumentName], at peer: SimPeer, since number: Int) {
    let later = transactions[number...].filter { $0.peer == peer.number }
    let written = Set(later.flatMap(\.documents))
    evictedBy[peer.number, default: []].formUnion(Set(documents).subtracting(written))
  }

  /// The first transaction of a peer whose end is open; the next one where there is none.
  func firstOpen(of peer: Int) -> Int {
    transactions.first { $0.peer == peer && $0.outcome == .open }?.number ?? transactions.count
  }

  /// What a peer did from a number on may be lost: its store was put back to what it was before.
  func doubt(_ peer: Int, since number: Int) {
    evictedBy[peer] = []
    for transaction in transactions where transaction.peer == peer && transaction.number >= number {
      if transaction.outcome == .acknowledged { transaction.outcome = .open }
    }
  }
}

/// One transaction of an application.
package final class LedgerTransaction {
  enum Outcome {
    /// Nobody has heard how it ended.
    case open
    case acknowledged
    case refused
  }

  let number: Int
  let peer: Int
  /// What it leaves in each document that keeps marks.
  let mark: Int?
  var outcome = Outcome.open
  /// What it writes, or tries to.
  var documents: [DocumentName] = []
  /// Documents that bear the mark.
  private(set) var members: Set<DocumentName> = []
  /// The writes that leave the mark.
  private(set) var marks: [DocumentName: VersionVector.Element] = [:]
  private(set) var increments: [(document: DocumentName, by: Int64)] = []
  /// Whether the reference model follows what is written.
  let isModelled: Bool
  private(set) var writes: [(document: DocumentName, write: FieldWrite)] = []

  init(_ number: Int, at peer: Int, mark: Int?, isModelled: Bool) {
    self.number = number
    self.peer = peer
    self.mark = mark
    self.isModelled = isModelled
  }

  /// Takes note of a write, unless it changed nothing.
  func note(
    _ fields: [(field: ModelField, value: Value?)], _ life: Bool?, on document: DocumentName,
    from known: VersionVector, to after: VersionVector
  ) {
    guard let own = after.elements.first(where: { known[$0.writer] < $0.reading }) else { return }
    let write = FieldWrite(
      fields: fields, life: life, reading: own.reading, site: own.writer.site, known: known)
    writes.append((document, write))
  }

  /// Takes note of the write that leaves the mark on a document.
  func noteMark(on document: DocumentName, from known: VersionVector, to after: VersionVector) {
    members.insert(document)
    guard let own = after.elements.first(where: { known[$0.writer] < $0.reading }) else { return }
    marks[document] = own
  }

  func noteIncrement(of document: DocumentName, by amount: Int) {
    increments.append((document, Int64(amount)))
  }
}
