/// Which way live groups take to one peer, and what is announced to it and not settled.
struct Announcing {
  /// What came from others is sent, not announced.
  private(set) var sendsForwards = false
  /// What was written here is sent, not announced.
  private(set) var sendsOwn = true
  private var announced: UInt64 = 0
  private var settled: UInt64 = 0
  private var open = WorkQueue<(documents: Int, sequence: UInt64)>()
  private(set) var openDocuments = 0
  /// The least sequence of an announced group that the peer is not done with.
  private(set) var firstOpen: UInt64?
  /// What goes out at the end of the call.
  private var waiting: [[AnnouncedDocument]] = []

  /// The peer asked for what was announced: it depends on this way.
  mutating func graft() {
    sendsForwards = true
    sendsOwn = true
  }

  /// Takes the peer's word.
  ///
  /// - Throws: `malformed` when it settles what was not announced.
  mutating func take(_ prune: Prune) throws(SyncError) {
    guard prune.settled >= settled, prune.settled <= announced else {
      throw SyncError(.malformed, "Announcements are settled that were not made")
    }
    if prune.forwards { sendsForwards = false }
    if prune.own { sendsOwn = false }
    guard prune.settled > settled else { return }
    while settled < prune.settled, let group = open.removeFirst() {
      settled += 1
      openDocuments -= group.documents
    }
    firstOpen = open.map(\.sequence).min()
  }

  /// Takes a group to be announced, which the peer is to settle.
  mutating func add(_ documents: [AnnouncedDocument], sequence: UInt64) {
    waiting.append(documents)
    announced += 1
    open.append((documents.count, sequence))
    openDocuments += documents.count
    firstOpen = min(firstOpen ?? sequence, sequence)
  }

  /// Hands out what waits.
  mutating func takeWaiting() -> [[AnnouncedDocument]] {
    defer { waiting = [] }
    return waiting
  }
}
