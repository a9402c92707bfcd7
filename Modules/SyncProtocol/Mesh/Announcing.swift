/// How live transactions reach one peer, by eager or lazy push, and the announcements it has not settled.
struct Announcing {
  /// Whether forwarded changes are pushed eagerly instead of announced.
  private(set) var sendsForwards = false
  /// Whether local writes are pushed eagerly instead of announced.
  private(set) var sendsOwn = true
  private var announced: UInt64 = 0
  private var settled: UInt64 = 0
  private var open = WorkQueue<(documents: Int, sequence: UInt64)>()
  private(set) var openDocuments = 0
  /// The lowest sequence of an announced transaction that the peer has not settled.
  private(set) var firstOpen: UInt64?
  /// Announcements that go out at the end of the call.
  private var waiting: [[AnnouncedDocument]] = []

  /// Processes a GRAFT: the peer requested an announced transaction, so it depends on this link.
  mutating func graft() {
    sendsForwards = true
    sendsOwn = true
  }

  /// Processes a PRUNE of the peer.
  ///
  /// - Throws: `malformed` when it settles more than was announced.
  mutating func receive(_ prune: Prune) throws(SyncError) {
    guard prune.settled >= settled, prune.settled <= announced else {
      throw SyncError(.malformed, "Announcements are settled that were not made")
    }
    if prune.forwards { sendsForwards = false }
    if prune.own { sendsOwn = false }
    guard prune.settled > settled else { return }
    while settled < prune.settled, let transaction = open.removeFirst() {
      settled += 1
      openDocuments -= transaction.documents
    }
    firstOpen = open.map(\.sequence).min()
  }

  /// Queues the announcement of a transaction, which the peer has to settle.
  mutating func add(_ documents: [AnnouncedDocument], sequence: UInt64) {
    waiting.append(documents)
    announced += 1
    open.append((documents.count, sequence))
    openDocuments += documents.count
    firstOpen = min(firstOpen ?? sequence, sequence)
  }

  /// Removes and returns the queued announcements.
  mutating func removeWaiting() -> [[AnnouncedDocument]] {
    defer { waiting = [] }
    return waiting
  }
}
