import CRDTCore
import Failpoints

/// What the peer subscribes to: whether that is known, what of it has come, and what is served.
struct PeerInterest {
  private enum State {
    /// The peer has said nothing yet.
    case unknown
    /// The peer goes on from a checkpoint under an interest that is not known here, and was asked for it.
    case awaited
    /// The peer subscribes to nothing: otherwise it would have said so before anything else.
    case nothing
    case served(generation: UInt64)
  }

  /// What has come of an interest when all of it is taken apart.
  enum Whole {
    /// What is served stays as it is.
    case kept
    case new(Interest, draft: InterestDraft)
  }

  private var state = State.unknown
  /// What is served.
  private(set) var served = Interest()
  /// The interest that the peer has begun to send, or goes on from, until it is served.
  private var draft: InterestDraft?
  /// Whether something was owed to the peer before its interest was known: where it would go on from a checkpoint it has to
  /// compare.
  private(set) var wasOwedBefore = false

  /// The number that the peer has given to what is served; `nil` while nothing is.
  var generation: UInt64? { if case .served(let generation) = state { generation } else { nil } }
  /// Whether the peer subscribes to nothing.
  var isNothing: Bool { if case .nothing = state { true } else { false } }
  /// Whether the peer has begun to send an interest that is not served yet.
  var hasDraft: Bool { draft != nil }
  /// Bytes of the query that is to be taken apart next; `nil` where none waits.
  var nextQueryBytes: Int? { draft?.nextBytes }
  /// About what it takes in memory.
  var memoryBytes: Int { served.memoryBytes + (draft?.memoryBytes ?? 0) }

  /// Takes note that the peer was asked for the interest that it goes on under.
  mutating func awaitInterest() { if generation == nil { state = .awaited } }

  /// Takes note that the peer has sent something else than what it begins with when it subscribes to anything.
  mutating func noteTalk() { if case .unknown = state, draft == nil { state = .nothing } }

  /// Takes note that something is owed to the peer.
  mutating func noteOwed() { if case .awaited = state { wasOwedBefore = true } }

  /// Takes a frame of the peer's interest, whose queries are taken apart later.
  ///
  /// - Throws: `outOfOrder` or `limit`.
  mutating func take(_ frame: InterestFrame) throws(SyncError) {
    guard frame.isFirst == (draft == nil) else {
      throw SyncError(.outOfOrder, "An interest's parts are not in order")
    }
    var changed = draft ?? InterestDraft()
    draft = nil
    try changed.add(frame)
    draft = changed
  }

  /// Takes up an interest of an earlier session, under which the peer goes on.
  mutating func take(_ known: [[UInt8]], for resume: ResumeFrame) {
    draft = InterestDraft(known, for: resume)
  }

  /// Takes one query of the interest apart.
  ///
  /// - Returns: How many steps an evaluation of its conditions takes.
  mutating func takeNextQuery() throws(CodecError) -> Int { try draft?.takeNext() ?? 0 }

  /// Hands out the interest that has come; `nil` unless all of it has come and is taken apart.
  mutating func takeWhole() -> Whole? {
    guard let draft, draft.isWhole, draft.nextBytes == nil else { return nil }
    self.draft = nil
    guard generation == nil || draft.resume != nil || !SyncDefect.interestKept.isPlanted else { return .kept }
    return .new(draft.finish(), draft: draft)
  }

  /// Serves an interest from now on.
  mutating func serve(_ interest: Interest, generation: UInt64) {
    served = interest
    state = .served(generation: generation)
  }
}
