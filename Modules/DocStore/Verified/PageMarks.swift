import Platform
import Synchronization

/// What is known of each page of the engine's file: when it was verified, when freed, and from where reached.
///
/// Suppose that a page was verified under the snapshot *S*. It is the same page for a reader of the snapshot
/// *R* ≥ *S* unless a commit in (*S*, *R*] freed it: the engine writes no page that a snapshot in use refers
/// to. So two transaction numbers for each page say whether it must be verified again.
// SAFETY: the memory is used atomically, and only by the holder of the environment. All accesses are relaxed.
// A mark that is seen late costs a second check. A freed page is reused only by a later transaction, and a
// reader sees that transaction only after taking the lock under which the earlier one's marks were made.
@safe struct PageMarks: @unchecked Sendable {
  /// Four words for each page.
  ///
  /// They are the snapshot under which its contents were verified, the last transaction that freed it, the
  /// place from which it was last reached, and the snapshot under which that was checked.
  private let words: UnsafeMutablePointer<Atomic<UInt64>>?
  /// How many pages there is room for; nothing is known of other pages.
  let capacity: Int

  private static let wordsPerPage = 4
  /// The address space for the marks of one page.
  static let bytesPerPage = wordsPerPage * MemoryLayout<UInt64>.stride

  /// Makes marks for a number of pages; they take up memory only for pages that are reached.
  init(capacity: Int) {
    let byteCount = capacity * Self.bytesPerPage
    // SAFETY: a new anonymous mapping overlaps no other memory; zeros are valid atomic zeros.
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

  /// Frees the memory; the marks and their copies must not be used afterwards.
  func free() {
    // SAFETY: this is the memory that `init` asked for.
    if let words = unsafe words {
      unsafe munmap(words, max(capacity * Self.bytesPerPage, 1))
    }
  }

  /// From where a page is reached, in one word.
  struct Place: Equatable {
    let rawValue: UInt64

    /// A number above all page numbers; it represents the place that names a tree's root.
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

    /// The place without what is known of the page.
    var bare: UInt64 { rawValue >> Self.flagBits }
    /// The table and the level.
    var kind: UInt64 { bare & 0xFFF }

    /// Whether some entries are damaged, so that each must be checked when it is read.
    var hasDamagedEntries: Bool { rawValue & Self.hasDamagedEntries != 0 }
    /// Whether the entries have not been checked; a write transaction does not need that.
    var hasUncheckedEntries: Bool { rawValue & Self.hasUncheckedEntries != 0 }
    /// Whether the targets to which the entries refer were found to exist.
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
  ///   - floor: Verifications up to this snapshot no longer count.
  /// - Returns: Whether it is the page that was verified.
  @inline(__always)
  func isVerified(_ page: Int, for snapshot: UInt64, above floor: UInt64) -> Bool {
    let (verified, freed) = (load(page, 0), load(page, 1))
    return verified > floor && (verified > freed || snapshot < freed)
  }

  /// Whether the page was found to match its place since `time`.
  @inline(__always)
  func isExpected(_ page: Int, at place: Place, since time: UInt64, _ needsEntries: Bool) -> Bool {
    let known = load(page, 2)
    return known >> 4 == place.bare && load(page, 3) >= time
      && !(needsEntries && Place(rawValue: known).hasUncheckedEntries)
  }

  /// Records that the page was verified under a snapshot, at a place.
  func noteVerified(_ page: Int, by snapshot: UInt64, at place: Place) {
    notePlace(page, place, by: snapshot)
    store(page, 0, snapshot)
  }

  /// Records that the page was found to match its place.
  func notePlace(_ page: Int, _ place: Place, by snapshot: UInt64) {
    store(page, 2, place.rawValue)
    store(page, 3, snapshot)
  }

  /// Records that the targets of the page's entries exist.
  func noteLinked(_ page: Int) { store(page, 2, place(page).adding(isLinked: true).rawValue) }

  /// Records that a transaction freed the page.
  ///
  /// A verification from before an earlier freeing concerned another page, and is forgotten.
  func noteFreed(_ page: Int, by transaction: UInt64) {
    if load(page, 0) <= load(page, 1) { store(page, 0, 0) }
    store(page, 1, transaction)
  }
}
