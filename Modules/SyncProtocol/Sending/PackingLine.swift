/// Chunks of large transactions in sending order.
///
/// Some are compressed; other threads are compressing the others.
struct PackingLine {
  /// One chunk.
  struct Entry {
    /// The transaction's number in the order of queueing.
    let transfer: UInt64
    let transaction: [UInt8]
    let range: Range<Int>
    let collections: CollectionSet
    /// Set on a transaction's last chunk.
    let end: (documents: Int, sequence: UInt64)?
    /// Window bytes reserved until the chunk is compressed.
    let reservedBytes: Int
    /// `nil` while the chunk is being compressed.
    var content: Content?
    fileprivate var ticket: UInt64 = 0

    init(
      _ transfer: UInt64, _ transaction: [UInt8], _ range: Range<Int>, collections: CollectionSet,
      end: (documents: Int, sequence: UInt64)?, reservedBytes: Int, content: Content?
    ) {
      self.transfer = transfer
      self.transaction = transaction
      self.range = range
      self.collections = collections
      self.end = end
      self.reservedBytes = reservedBytes
      self.content = content
    }
  }

  enum Content {
    /// Compressed bytes; `nil` for a chunk that is sent uncompressed.
    case piece([UInt8]?, PiecePacking)
    /// The receiver has these bytes staged.
    case reuse(PeerStages.ReusableRange, isLearnt: Bool)

    /// The content after deflate; `nil` bytes mean that deflate did not make it smaller.
    static func deflated(_ packed: [UInt8]?) -> Content {
      .piece(packed, packed == nil ? .stored : .deflated)
    }
  }

  /// How many chunks are compressed at the same time; more would only wait.
  static let most = 8

  private var entries: [Entry] = []
  /// The ticket with which the next entry's job reports its result.
  private(set) var nextTicket: UInt64 = 0
  private(set) var reservedBytes = 0

  var isEmpty: Bool { entries.isEmpty }
  var isFull: Bool { entries.count >= Self.most }
  var sequences: [UInt64] { entries.compactMap { $0.end?.sequence } }

  mutating func append(_ entry: Entry) {
    var entry = entry
    entry.ticket = nextTicket
    nextTicket += 1
    entries.append(entry)
    reservedBytes += entry.reservedBytes
  }

  /// Stores the result of a job; that of a removed chunk is ignored.
  mutating func complete(_ ticket: UInt64, _ packed: [UInt8]?) {
    guard let index = entries.firstIndex(where: { $0.ticket == ticket }) else { return }
    entries[index].content = .deflated(packed)
  }

  /// Removes and returns the first chunk, once it is compressed.
  mutating func removeFirst() -> Entry? {
    guard let first = entries.first, first.content != nil else { return nil }
    reservedBytes -= first.reservedBytes
    return entries.removeFirst()
  }

  /// Removes chunks, compressed or not.
  ///
  /// - Returns: The numbers of their transactions, with the size of each transaction in bytes.
  mutating func remove(where isForbidden: (CollectionSet) -> Bool) -> [UInt64: Int] {
    var removed: [UInt64: Int] = [:]
    for entry in entries where isForbidden(entry.collections) {
      removed[entry.transfer] = entry.transaction.count
      reservedBytes -= entry.reservedBytes
    }
    entries.removeAll { isForbidden($0.collections) }
    return removed
  }
}
