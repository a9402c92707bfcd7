import CRDTCore
import Synchronization

/// The source location where a snapshot was taken, for the log.
struct SourcePlace: Hashable, Sendable {
  let file: StaticString
  let line: UInt

  static func == (a: SourcePlace, b: SourcePlace) -> Bool {
    a.line == b.line && a.text.isSame(as: b.text)
  }
  func hash(into hasher: inout Hasher) { hasher.combine(line) }

  var text: String { "\(file):\(line)" }

  /// The location of the store's own snapshots, which end by themselves.
  static let store = SourcePlace(file: "DocStore", line: 0)
}

/// The log's state at a commit, shared by its snapshots: it is too large to be copied for each.
final class KnownLog: Sendable {
  /// The engine's number of the commit.
  let number: UInt64
  let state: LogState

  init(_ number: UInt64, _ state: LogState) { (self.number, self.state) = (number, state) }
}

/// One of the engine's read transactions: in use by a snapshot, or idle until the next one.
// SAFETY: the board's fields change only under the board's lock; one thread at a time uses the engine's
// handle: the one that has the slot.
@safe final class ReaderSlot: @unchecked Sendable {
  let handle: OpaquePointer
  fileprivate(set) var place = SourcePlace.store
  /// When the snapshot began, by the options' monotonic clock.
  fileprivate(set) var start = Duration.zero
  fileprivate var index = 0
  fileprivate var isExempt = false
  /// The catalogue of the names to which the snapshot's records refer.
  fileprivate(set) var catalogue = Catalogue.empty
  /// The log's state at the snapshot's commit; `nil` if it was not known when the snapshot began.
  fileprivate(set) var log: KnownLog?
  // Relaxed: only the flag is read, and a late read is harmless.
  private let expired = Atomic(false)

  /// The verified pages of the snapshot's commit.
  let snapshot: VerifiedSnapshot

  init(_ handle: OpaquePointer, _ snapshot: VerifiedSnapshot) {
    unsafe self.handle = handle
    self.snapshot = snapshot
  }

  var access: PageAccess { unsafe PageAccess(handle, snapshot) }

  /// Whether the snapshot has outlived the deadline for readers, and a transaction has written since.
  var isExpired: Bool { expired.load(ordering: .relaxed) }

  fileprivate func setExpired(_ flag: Bool) { expired.store(flag, ordering: .relaxed) }

  /// Refuses to read after the deadline.
  func check() throws(StoreError) {
    if isExpired {
      throw StoreError(
        .deadline, "The snapshot taken at \(place.text) outlived the deadline for readers", operation: "read")
    }
  }
}

/// The snapshots of one environment: which are open, since when, and which slots are free.
struct ReaderBoard {
  private(set) var active: [ReaderSlot] = []
  private var idle: [ReaderSlot] = []
  /// Whether new snapshots must wait, because the map is about to move.
  var isPaused = false
  /// Why reads are no longer possible: the map was lost while it was moved.
  var failure: StoreError?
  /// The catalogue of new snapshots: it contains at least all names to which the last commit refers.
  var catalogue = Catalogue.empty
  /// The log's state at the last commit, so that snapshots need not read it.
  var last: KnownLog?

  /// Verifies pages before they are walked; and the trees of the last commit that it knows.
  var verifier: PageVerifier?
  var roots: TreeRoots?
  /// Whether this process is committing, so that the freed pages are not known yet.
  var isCommitting = false

  private static let idleReaders = 16

  /// Returns an idle slot to be renewed.
  mutating func takeIdle() -> ReaderSlot? { idle.popLast() }

  mutating func begin(_ slot: ReaderSlot, at place: SourcePlace, now: Duration, isExempt: Bool) {
    slot.place = place
    slot.start = now
    slot.isExempt = isExempt
    slot.setExpired(false)
    if slot.catalogue !== catalogue { slot.catalogue = catalogue }
    if let last, last.number == slot.access.transactionNumber {
      if slot.log !== last { slot.log = last }
    } else {
      slot.log = nil
    }
    slot.index = active.count
    active.append(slot)
  }

  mutating func end(_ slot: ReaderSlot) {
    guard let last = active.popLast(), last !== slot else { return }
    last.index = slot.index
    active[slot.index] = last
  }

  /// Keeps a slot for the next snapshot.
  ///
  /// - Returns: `false` if enough slots are idle.
  mutating func keep(_ slot: ReaderSlot) -> Bool {
    guard idle.count < Self.idleReaders else { return false }
    idle.append(slot)
    return true
  }

  mutating func takeAllIdle() -> [ReaderSlot] {
    defer { idle = [] }
    return idle
  }

  /// The snapshot that has been open longest.
  var oldest: ReaderSlot? { active.min { $0.start < $1.start } }

  /// Marks snapshots that are older than `deadline`, and returns those that were not marked before.
  func expire(after deadline: Duration, now: () -> Duration) -> [(place: SourcePlace, age: Duration)] {
    guard !active.isEmpty else { return [] }
    let now = now()
    return active.compactMap { slot in
      let age = now - slot.start
      guard age > deadline, !slot.isExempt, !slot.isExpired else { return nil }
      slot.setExpired(true)
      return (slot.place, age)
    }
  }
}
