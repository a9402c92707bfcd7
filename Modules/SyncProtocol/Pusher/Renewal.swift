/// Whether the peer is to compare all anew, since not all that concerns it was sent by the rules of now.
///
/// What it began to compare before it heard of that may be some collections only.
struct Renewal {
  private var unheard = 0
  /// Whether it is to, and has not begun.
  private(set) var isOpen = false

  /// Takes note that the peer was told, which says when it has heard.
  mutating func tell() {
    isOpen = true
    unheard += 1
  }

  /// Takes the peer's word.
  ///
  /// - Throws: `outOfOrder` when it was not told.
  mutating func hear() throws(SyncError) {
    guard unheard > 0 else { throw SyncError(.outOfOrder, "The peer has heard of what it was not told") }
    unheard -= 1
  }

  /// Takes note that the peer begins to compare.
  ///
  /// - Returns: Whether it compares all where it is to.
  mutating func begin() -> Bool {
    guard unheard == 0 else { return false }
    isOpen = false
    return true
  }
}
