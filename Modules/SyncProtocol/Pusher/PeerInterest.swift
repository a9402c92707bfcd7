import CRDTCore
import Failpoints

/// What the peer subscribes to: whether that is known, what of it has arrived, and what is served.
struct PeerInterest {
  enum State: Equatable {
    /// The peer has sent nothing yet.
    case unknown
    /// The peer resumes from a checkpoint under an interest that is unknown here.
    ///
    /// It was asked for that interest.
    case awaited
    /// The peer subscribes to nothing: an interest would have been its first frame.
    case nothing
    case served(generation: UInt64)

    /// Whether a state may follow this one; an interest is served until the next one is.
    func mayLead(to next: State) -> Bool {
      switch (self, next) {
      case (.unknown, .awaited), (.awaited, .awaited), (.nothing, .awaited): true
      case (.unknown, .nothing): true
      case (.unknown, .served), (.awaited, .served), (.nothing, .served), (.served, .served): true
      case (.unknown, .unknown), (.awaited, .unknown), (.nothing, .unknown), (.served, .unknown): false
      case (.awaited, .nothing), (.nothing, .nothing), (.served, .nothing): false
      case (.served, .awaited): false
      }
    }
  }

  /// The result of an interest that has arrived and is compiled.
  enum Whole {
    /// The served interest stays.
    case kept
    case new(Interest, draft: InterestDraft)
  }

  private(set) var state = State.unknown
  /// The interest that is served.
  private(set) var served = Interest()
  /// The interest that the peer is sending, or resumes under, until it is served.
  private var draft: InterestDraft?
  /// Whether documents were owed to the peer before its interest was known.
  ///
  /// Then the peer must reconcile instead of resuming.
  private(set) var wasOwedBefore = false

  /// The generation number that the peer has given to the served interest; `nil` while none is served.
  var generation: UInt64? { if case .served(let generation) = state { generation } else { nil } }
  /// Whether the peer subscribes to nothing.
  var isNothing: Bool { if case .nothing = state { true } else { false } }
  /// Bytes of the query that is compiled next; `nil` if none waits.
  var nextQueryBytes: Int? { draft?.nextBytes }
  /// Approximate memory in bytes.
  var memoryBytes: Int { served.memoryBytes + (draft?.memoryBytes ?? 0) }

  /// Goes on to the next state.
  private mutating func enter(_ next: State) {
    let state = state
    check(.transition, state.mayLead(to: next), phase: "interest \(state)", "it leads to \(next)")
    self.state = next
  }

  /// Records that the peer was asked for the interest under which it resumes.
  mutating func awaitInterest() { if generation == nil { enter(.awaited) } }

  /// Records a frame other than an interest; if it is the first one, the peer subscribes to nothing.
  mutating func noteTalk() { if case .unknown = state, draft == nil { enter(.nothing) } }

  /// Records that documents are owed to the peer.
  mutating func noteOwed() { if case .awaited = state { wasOwedBefore = true } }

  /// Adds a frame of the peer's interest; its queries are compiled later.
  ///
  /// - Throws: `outOfOrder` or `limit`.
  mutating func receive(_ frame: InterestFrame) throws(SyncError) {
    guard frame.isFirst == (draft == nil) else {
      throw SyncError(.outOfOrder, "An interest's parts are not in order")
    }
    var changed = draft ?? InterestDraft()
    draft = nil
    try changed.add(frame)
    draft = changed
  }

  /// Restores the interest of an earlier session, under which the peer resumes.
  mutating func receive(_ known: [[UInt8]], for resume: ResumeFrame) {
    draft = InterestDraft(known, for: resume)
  }

  /// Decodes and compiles one query of the interest.
  ///
  /// - Returns: How many steps an evaluation of its conditions takes.
  mutating func parseNextQuery() throws(CodecError) -> Int { try draft?.parseNext() ?? 0 }

  /// Returns the new interest; `nil` until all of it has arrived and is compiled.
  mutating func removeWhole() -> Whole? {
    guard let draft, draft.isWhole, draft.nextBytes == nil else { return nil }
    self.draft = nil
    guard generation == nil || draft.resume != nil || !SyncDefect.interestKept.isPlanted else { return .kept }
    return .new(draft.finish(), draft: draft)
  }

  /// Serves an interest from now on.
  mutating func serve(_ interest: Interest, generation: UInt64) {
    served = interest
    enter(.served(generation: generation))
  }
}
