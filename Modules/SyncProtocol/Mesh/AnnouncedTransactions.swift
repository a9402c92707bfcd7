import CRDTCore

/// The announced transactions that this peer has not settled yet.
struct AnnouncedTransactions {
  /// The state of an announced transaction.
  enum RequestState: Equatable {
    /// Another session may deliver it.
    case held(isBehind: Bool)
    /// It was requested from the sender.
    case wanted
    /// It was requested in vain: a reconciliation that starts after this reconciliation finds what exists.
    case lost(reconciliation: UInt64)
  }

  struct Transaction {
    /// Its position among all announcements of the session, from 1.
    let number: UInt64
    /// The documents that concern this peer.
    let documents: [AnnouncedDocument]
    /// The changes that this peer still waits for.
    let changes: [PullScheduler.Change]
    let since: Duration
    var deadline: Duration
    var state: RequestState
  }

  /// The transactions, in the order of their announcement.
  private(set) var transactions: [Transaction] = []
  private(set) var received: UInt64 = 0
  private(set) var documentCount = 0
  /// Documents settled since the last report to the sender.
  private(set) var unreported = 0
  /// When the next transaction is due.
  private(set) var deadline: Duration?
  /// Whether data has arrived that may include a requested transaction.
  var isAnswered = false
  /// The value of ``settled`` last sent to the sender, and when.
  private(set) var reported: (settled: UInt64, at: Duration) = (0, .zero)

  /// How many announced transactions are settled, up to the first that is not.
  var settled: UInt64 { (transactions.first?.number).map { $0 - 1 } ?? received }

  /// Whether an announced transaction is neither received nor requested.
  var isOpen: Bool { transactions.contains { $0.state != .wanted } }

  mutating func countOne() -> UInt64 {
    received += 1
    return received
  }

  mutating func append(_ transaction: Transaction) {
    transactions.append(transaction)
    documentCount += transaction.documents.count
    deadline = min(deadline ?? transaction.deadline, transaction.deadline)
  }

  /// Makes all transactions due that wait for another session.
  mutating func hurry(now: Duration) {
    for index in transactions.indices where transactions[index].state == .held(isBehind: true) {
      transactions[index].deadline = now
      deadline = now
    }
  }

  /// Returns whether a transaction is due.
  func isDue(now: Duration) -> Bool { isAnswered || deadline.map { $0 <= now } ?? false }

  /// Calls `body` for each transaction that is due, and for requested ones that may have arrived.
  ///
  /// `body` returns the next state and deadline of a transaction, or `nil` once it is settled.
  mutating func look(
    now: Duration, _ body: (Transaction) throws -> (RequestState, deadline: Duration)?
  ) rethrows {
    var kept: [Transaction] = []
    kept.reserveCapacity(transactions.count)
    var next: Duration?
    for var transaction in transactions {
      if transaction.deadline <= now || isAnswered && transaction.state == .wanted {
        guard let (state, deadline) = try body(transaction) else {
          documentCount -= transaction.documents.count
          unreported += transaction.documents.count
          continue
        }
        // Requested transactions arrive in the order of the requests.
        if transaction.state == .wanted { isAnswered = false }
        transaction.state = state
        transaction.deadline = deadline
      }
      next = min(next ?? transaction.deadline, transaction.deadline)
      kept.append(transaction)
    }
    transactions = kept
    deadline = next
    isAnswered = false
  }

  mutating func report(now: Duration) {
    reported = (settled, now)
    unreported = 0
  }
}
