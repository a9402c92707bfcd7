import CRDTCore

/// The small transactions that wait to be sent, encoded one after the other.
struct TransactionStream {
  /// A small transaction, by its end in the stream.
  struct Transaction {
    var end: UInt64
    let documents: Int
    let sequence: UInt64
    let isBulk: Bool
    let collections: CollectionSet
  }

  /// The next piece of the stream, and the transactions that end in it.
  struct Piece {
    let bytes: [UInt8]
    var transactions: [Transaction] = []
  }

  /// Plain bytes; those before `head` are sent.
  private var bytes: [UInt8] = []
  private var head = 0
  /// The number of bytes that were sent and removed.
  private var start: UInt64 = 0
  private(set) var transactions = WorkQueue<Transaction>()
  /// Whether a part of the first transaction was sent.
  private var isFirstBegun = false

  /// The bytes that wait.
  var byteCount: Int { bytes.count - head }

  mutating func append(_ transaction: borrowing TransactionEncoder, sequence: UInt64, isBulk: Bool) {
    transaction.write(to: &bytes)
    transactions.append(
      Transaction(
        end: start + UInt64(byteCount), documents: transaction.documentCount, sequence: sequence,
        isBulk: isBulk,
        collections: transaction.collections))
  }

  /// Removes and returns at most `limit` bytes.
  ///
  /// They end with a transaction if one ends in them, so that few transactions are ever sent in part.
  mutating func dequeue(atMost limit: Int) -> Piece {
    let most = start + UInt64(min(byteCount, limit))
    var count = Int(most - start)
    var ended: [Transaction] = []
    while let transaction = transactions.first, transaction.end <= most {
      _ = transactions.removeFirst()
      ended.append(transaction)
      count = Int(transaction.end - start)
    }
    isFirstBegun = ended.isEmpty
    let piece = Array(bytes[head..<head + count])
    head += count
    if head == bytes.count {
      bytes.removeAll(keepingCapacity: true)
      head = 0
    } else if head >= 1 << 16, head * 2 >= bytes.count {
      bytes.removeFirst(head)
      head = 0
    }
    start += UInt64(count)
    return Piece(bytes: piece, transactions: ended)
  }

  /// Drops the transactions with a document of a collection that `isForbidden`.
  ///
  /// - Returns: How many were dropped, and whether a part of one of them was sent.
  mutating func remove(where isForbidden: (String) -> Bool) -> (count: UInt64, isBegun: Bool) {
    let waiting = transactions.map { $0 }
    guard waiting.contains(where: { $0.collections.contains(where: isForbidden) }) else { return (0, false) }
    var left: [UInt8] = []
    var kept = WorkQueue<Transaction>()
    var (count, isBegun) = (UInt64(0), false)
    // The start of the transaction, counted from the first unsent byte; 0 for a transaction that was begun.
    var place = 0
    for (index, transaction) in zip(0..., waiting) {
      let end = Int(transaction.end - start)
      defer { place = end }
      guard transaction.collections.contains(where: isForbidden) else {
        left += bytes[head + place..<head + end]
        var moved = transaction
        moved.end = start + UInt64(left.count)
        kept.append(moved)
        continue
      }
      count += 1
      if index == 0, isFirstBegun { (isFirstBegun, isBegun) = (false, true) }
    }
    (bytes, head, transactions) = (left, 0, kept)
    return (count, isBegun)
  }

  /// Frees the memory, while nothing waits.
  mutating func rest() { bytes = [] }
}
