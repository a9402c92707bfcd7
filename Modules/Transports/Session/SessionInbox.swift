import CRDTCore
package import DocStore
import NIOConcurrencyHelpers
package import QueryEngine
package import SyncProtocol

/// What has happened to a session and was not yet told to it, and whose turn it is to tell.
///
/// It is filled from any thread. Whoever fills it while nobody has the turn gets it, and empties it until nothing
/// is left: so one caller at a time uses the session, wherever the call is made.
package final class SessionInbox: Sendable {
  /// All that came since somebody looked last.
  package struct Input: Sendable {
    package private(set) var commits: [Commit] = []
    /// The last commit that was dropped, because too much waited.
    package private(set) var lostThrough: UInt64?
    package var applied: [AppliedBatch] = []
    package var packed: [PackedPiece] = []
    /// What is pulled from now on, by how many of the commits were made before: what is evicted between two subscriptions
    /// is not asked for by either.
    package private(set) var subscriptions: [(afterCommits: Int, queries: [SubscriptionQuery])] = []
    /// The number of the last set.
    private(set) var subscriptionsNumber: UInt64 = 0
    package var policyChanged = false
    /// What the session waits for at another one has come to something.
    package var nudged = false
    /// What became of statements between the peers, in the order in which it did.
    var questions: [QuestionInput] = []
    /// What statements found that run for the peer.
    var queried: [QueryJob.Piece] = []
    /// A moment has come at which the session wanted to be called.
    package var isDue = false
    package var chunks: [[UInt8]] = []
    package var linkEnd: LinkError?
    /// Why the session is to end.
    package var closing: SyncError?
    /// The peer that has said hello is let in.
    package fileprivate(set) var isAdmitted = false
    /// How long the peer has for a sign of life.
    package var signOfLife: Duration?
    /// What this peer says of itself.
    var ownPresence: SignedPresence?
    /// Whether the peer is asked what it says of itself.
    var observesPresence: Bool?
    package var cancelled = false

    /// Takes note of what is pulled from now on; of sets with no commit between them the last one counts.
    mutating func subscribe(to queries: [SubscriptionQuery], number: UInt64 = 0) {
      subscriptionsNumber = number
      if subscriptions.last?.afterCommits == commits.count { subscriptions.removeLast() }
      subscriptions.append((commits.count, queries))
    }

    fileprivate mutating func add(_ commit: Commit) { commits.append(commit) }

    /// Drops the commits that wait, up to and with one that does not.
    fileprivate mutating func dropCommits(through sequence: UInt64) {
      commits = []
      lostThrough = sequence
      if let last = subscriptions.last { subscriptions = [(0, last.queries)] }
    }
  }

  private struct State {
    var input = Input()
    var isEmpty = true
    var isTaken = false
    /// Bytes that the link received and the session has not seen, those that were taken out included.
    var chunkBytes = 0
    var commitBytes = 0
    var discards = false
  }

  private let state = NIOLockedValueBox(State())

  package init() {}

  /// Puts something in.
  ///
  /// - Returns: Whether the caller has the turn now, and must see to it that somebody empties the inbox.
  func post(_ change: (inout Input) -> Void) -> Bool {
    state.withLockedValue { Self.post(&$0) { change(&$0.input) } }
  }

  /// Puts in what the link received.
  func post(chunk: [UInt8]) -> Bool {
    state.withLockedValue { state in
      Self.post(&state) { state in
        state.input.chunks.append(chunk)
        state.chunkBytes += chunk.count
      }
    }
  }

  /// Puts in that the peer is admitted.
  func postAdmission() -> Bool {
    state.withLockedValue { state in
      Self.post(&state) { $0.input.isAdmitted = true }
    }
  }

  /// Puts in a commit; beyond the bound all that wait are dropped, and only that is told.
  package func post(_ commit: Commit) -> Bool {
    let byteCount = commit.byteCount
    return state.withLockedValue { state in
      Self.post(&state) { state in
        state.commitBytes += byteCount
        if state.commitBytes > DriverLimits.unseenCommitBytes, !state.input.commits.isEmpty {
          state.input.dropCommits(through: commit.sequence)
          state.commitBytes = 0
        } else {
          state.input.add(commit)
        }
      }
    }
  }

  private static func post(_ state: inout State, _ change: (inout State) -> Void) -> Bool {
    guard !state.discards else { return false }
    change(&state)
    state.isEmpty = false
    defer { state.isTaken = true }
    return !state.isTaken
  }

  /// What was there for who has the turn, and whether they have it still.
  package enum Taken {
    case input(Input)
    /// There was nothing, and the turn was kept.
    case nothing
    /// There was nothing, and the turn may be another thread's by now: nothing that belongs to it may be looked at.
    case turnGiven
  }

  /// Takes everything out; for whoever has the turn, who tells with ``sawChunks(allBut:)`` what the session has seen of
  /// what the link received.
  ///
  /// - Parameters:
  ///   - keepingTurn: Whether the turn is kept when there is nothing.
  ///   - holdingChunks: Whether what the link received stays, as the session has yet to look at what came before.
  /// - Returns: What there was.
  package func take(keepingTurn: Bool, holdingChunks: Bool = false) -> Taken {
    state.withLockedValue { state in
      guard !state.isEmpty || !holdingChunks && !state.input.chunks.isEmpty else {
        if keepingTurn { return .nothing }
        state.isTaken = false
        return .turnGiven
      }
      var input = state.input
      state.input = Input()
      if holdingChunks { swap(&state.input.chunks, &input.chunks) }
      state.isEmpty = true
      state.commitBytes = 0
      return .input(input)
    }
  }

  /// Takes that the session has seen what the link received and was taken out, all but `rest`, which is put back before
  /// all that has come since; for whoever has the turn.
  ///
  /// Until then it counts, so that the link does not fill the room of what may yet be put back.
  package func sawChunks(allBut rest: ArraySlice<[UInt8]>) {
    state.withLockedValue { state in
      guard !state.discards else { return }
      state.input.chunks = rest + state.input.chunks
      state.chunkBytes = state.input.chunks.reduce(0) { $0 + $1.count }
    }
  }

  /// Bytes of commits that the session has not seen.
  package var commitBytes: Int { state.withLockedValue { $0.commitBytes } }

  /// Whether commits wait that the session has not seen.
  package var hasCommits: Bool { state.withLockedValue { !$0.input.commits.isEmpty } }

  /// Whether more may be received.
  var hasRoom: Bool {
    state.withLockedValue { $0.discards || $0.chunkBytes < DriverLimits.unseenBytes }
  }

  /// Drops everything from now on: the session is over, and nobody gets the turn any more.
  func discard() {
    state.withLockedValue { state in
      state.input = Input()
      state.discards = true
    }
  }
}

/// What became of one batch.
package struct AppliedBatch: Sendable {
  package let ticket: UInt64
  package let result: Result<ApplyOutcome, any Error>
}

extension Commit {
  /// What keeping it costs, about.
  fileprivate var byteCount: Int {
    changes.reduce(64) { $0 + ($1.before?.bytes.count ?? 0) + ($1.after?.bytes.count ?? 0) + 192 }
  }
}
