/// Pieces of large groups on their way to the wire, in order: some are packed, others are being packed elsewhere.
struct PackingLine {
  /// What a piece is, apart from its bytes.
  struct Entry {
    /// The group's number among those that were queued.
    let transfer: UInt64
    let group: [UInt8]
    let range: Range<Int>
    let collections: CollectionSet
    /// Set on a group's last piece.
    let end: (documents: Int, sequence: UInt64)?
    /// What the window holds room for until the piece is packed.
    let reservedBytes: Int
    /// `nil` while it is being packed.
    var content: Content?
    fileprivate var ticket: UInt64 = 0

    init(
      _ transfer: UInt64, _ group: [UInt8], _ range: Range<Int>, collections: CollectionSet,
      end: (documents: Int, sequence: UInt64)?, reservedBytes: Int, content: Content?
    ) {
      self.transfer = transfer
      self.group = group
      self.range = range
      self.collections = collections
      self.end = end
      self.reservedBytes = reservedBytes
      self.content = content
    }
  }

  enum Content {
    /// Packed bytes, or `nil` for a piece that goes as it is.
    case piece([UInt8]?, PiecePacking)
    /// The receiver has it.
    case reuse(PeerStages.Stretch, isLearnt: Bool)

    /// What deflating a piece came to.
    static func deflated(_ packed: [UInt8]?) -> Content {
      .piece(packed, packed == nil ? .stored : .deflated)
    }
  }

  /// Pieces that are packed at the same time; more would only wait.
  static let most = 8

  private var entries: [Entry] = []
  /// What the next entry's job is to report with.
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

  /// Takes what a job came to; what was removed meanwhile is nobody's any more.
  mutating func take(_ ticket: UInt64, _ packed: [UInt8]?) {
    guard let index = entries.firstIndex(where: { $0.ticket == ticket }) else { return }
    entries[index].content = .deflated(packed)
  }

  /// The first one, once it is packed.
  mutating func removeFirst() -> Entry? {
    guard let first = entries.first, first.content != nil else { return nil }
    reservedBytes -= first.reservedBytes
    return entries.removeFirst()
  }

  /// Removes pieces whatever has become of them.
  ///
  /// - Returns: The groups they are of, with the bytes of each.
  mutating func remove(where isForbidden: (CollectionSet) -> Bool) -> [UInt64: Int] {
    var removed: [UInt64: Int] = [:]
    for entry in entries where isForbidden(entry.collections) {
      removed[entry.transfer] = entry.group.count
      reservedBytes -= entry.reservedBytes
    }
    entries.removeAll { isForbidden($0.collections) }
    return removed
  }
}
