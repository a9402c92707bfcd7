import Platform
import Synchronization

/// What is known of each page of the engine's file: when it was verified, when it was freed, and where it was met.
///
/// A page that was verified under the snapshot *S* is the same page for a reader of the snapshot *R* ≥ *S* unless
/// a commit in (*S*, *R*] freed it: the engine writes no page that a snapshot in use refers to. So two transaction
/// numbers for each page tell whether it has to be looked at again.
// SAFETY: the memory is used atomically, and by whoever holds the environment alone. Relaxed throughout: a mark that
// is seen late costs a second look, and a page that was freed is used again only by a later transaction, which no
// reader sees before it took the lock under which the marks of the earlier one were made.
@safe struct PageMarks: @unchecked Sendable {
  /// Of each page: the snapshot under which its contents were verified, the last transaction that freed it, the
  /// place from which it was last reached, and the snapshot under which that was checked.
  private let words: UnsafeMutablePointer<Atomic<UInt64>>?
  /// Pages that there is room for; of others nothing is known.
  let capacity: Int

  private static let wordsPerPage = 4
  /// Address space that the marks of one page take.
  static let bytesPerPage = wordsPerPage * MemoryLayout<UInt64>.stride

  /// Makes marks for so many pages, which take memory only where pages are met.
  init(capacity: Int) {
    let byteCount = capacity * Self.bytesPerPage
    // SAFETY: an anonymous mapping stands for itself; zeros are atomic zeros.
    let room = unsafe mmap(
      nil, max(byteCount, 1), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON | Self.noReserve, -1, 0
    )
    guard let room = unsafe room, unsafe room != MAP_FAILED else {
      unsafe words = nil
      self.capacity = 0
      return
    }
    unsafe words = room.bindMemory(to: Atomic<UInt64>.self, capacity: capacity * Self.wordsPerPage)
    self.capacity = capacity
  }

  #if canImport(Darwin)
    private static let noReserve: Int32 = MAP_NORESERVE
  #else
    private static let noReserve = Int32(MAP_NORESERVE)
  #endif

  /// Gives the memory back; the marks and their copies must not be used any more.
  func free() {
    // SAFETY: this is what `init` asked for.
    if let words = unsafe words {
      unsafe munmap(words, max(capacity * Self.bytesPerPage, 1))
    }
  }

  /// Where a page is reached from, in one word.
  struct Place: Equatable {
    let rawValue: UInt64

    /// The least page number that is no page's, which stands for what names a tree's root.
    static let root = (1 << 36) - 1

    private static let flagBits: UInt64 = 4
    private static let hasDamagedEntries: UInt64 = 1
    private static let isLinked: UInt64 = 2
    private static let hasUncheckedEntries: UInt64 = 8

    init(parent: Int, index: Int, table: Int, level: Int) {
      let place = UInt64(parent) << 24 | UInt64(index) << 12 | UInt64(table) << 6 | UInt64(level)
      rawValue = place << Self.flagBits
    }

    fileprivate init(rawValue: UInt64) { self.rawValue = rawValue }

    /// The place without what is known of the page there.
    var bare: UInt64 { rawValue >> Self.flagBits }
    /// The table and the level.
    var kind: UInt64 { bare & 0xFFF }

    /// Whether not all entries are whole, so that each has to be looked at when it is read.
    var hasDamagedEntries: Bool { rawValue & Self.hasDamagedEntries != 0 }
    /// Whether the entries themselves have not been looked at: a transaction that writes need not.
    var hasUncheckedEntries: Bool { rawValue & Self.hasUncheckedEntries != 0 }
    /// Whether what the entries refer to was found to be there.
    var isLinked: Bool { rawValue & Self.isLinked != 0 }

    func adding(
      hasDamagedEntries: Bool = false, isLinked: Bool = false, hasUncheckedEntries: Bool = false
    ) -> Place {
      Place(
        rawValue: rawValue | (hasDamagedEntries ? Self.hasDamagedEntries : 0)
          | (isLinked ? Self.isLinked : 0) | (hasUncheckedEntries ? Self.hasUncheckedEntries : 0))
    }

    /// The same place with what `other` knows of the page.
    func keeping(_ other: Place) -> Place { Place(rawValue: rawValue | other.rawValue & 15) }
  }

  @inline(__always)
  private func load(_ page: Int, _ word: Int) -> UInt64 {
    guard let words = unsafe words, page >= 0, page < capacity else { return 0 }
    return unsafe words[page &* Self.wordsPerPage &+ word].load(ordering: .relaxed)
  }

  private func store(_ page: Int, _ word: Int, _ value: UInt64) {
    guard let words = unsafe words, page >= 0, page < capacity else { return }
    unsafe words[page &* Self.wordsPerPage &+ word].store(value, ordering: .relaxed)
  }

  /// The snapshot under which the page's contents were verified; 0 for none.
  @inline(__always)
  func verified(_ page: Int) -> UInt64 { load(page, 0) }

  /// The last transaction known to have freed the page; 0 for none since the file was opened.
  @inline(__always)
  func freed(_ page: Int) -> UInt64 { load(page, 1) }

  func place(_ page: Int) -> Place { Place(rawValue: load(page, 2)) }

  /// Whether the page's contents count as verified for a snapshot.
  ///
  /// - Parameters:
  ///   - page: The page.
  ///   - snapshot: The snapshot that reaches it.
  ///   - floor: What was verified up to this snapshot is forgotten.
  /// - Returns: Whether it is the page that was verified.
  @inline(__always)
  func isVerified(_ page: Int, for snapshot: UInt64, above floor: UInt64) -> Bool {
    let (verified, freed) = (load(page, 0), load(page, 1))
    return verified > floor && (verified > freed || snapshot < freed)
  }

  /// Whether the page was found to be the one that its place calls for since `time`.
  @inline(__always)
  func isExpected(_ page: Int, at place: Place, since time: UInt64, _ needsEntries: Bool) -> Bool {
    let known = load(page, 2)
    return known >> 4 == place.bare && load(page, 3) >= time
      && !(needsEntries && Place(rawValue: known).hasUncheckedEntries)
  }

  /// Notes that the page was verified under a snapshot, in a place.
  func noteVerified(_ page: Int, by snapshot: UInt64, at place: Place) {
    notePlace(page, place, by: snapshot)
    store(page, 0, snapshot)
  }

  /// Notes that the page was found to be what its place calls for.
  func notePlace(_ page: Int, _ place: Place, by snapshot: UInt64) {
    store(page, 2, place.rawValue)
    store(page, 3, snapshot)
  }

  /// Notes that what the page's entries refer to is there.
  func noteLinked(_ page: Int) { store(page, 2, place(page).adding(isLinked: true).rawValue) }

  /// Notes that a transaction freed the page.
  ///
  /// What was verified before an earlier one freed it was another page, and is forgotten.
  func noteFreed(_ page: Int, by transaction: UInt64) {
    if load(page, 0) <= load(page, 1) { store(page, 0, 0) }
    store(page, 1, transaction)
  }
}
