import CRDTCore
package import DocStore
package import Links
import NIOConcurrencyHelpers
package import QueryLanguage
package import SyncProtocol
import Synchronization

/// The mailbox of a session: input that it has not processed, and who may process it.
///
/// Any thread may post. The first caller that posts while nobody holds the turn gets it, and drains the
/// mailbox until it is empty. So one caller at a time uses the session, on whatever thread.
package final class SessionInbox: Sendable {
  /// Everything that was posted since the last take.
  package struct Input: Sendable {
    package private(set) var commits: [Commit] = []
    /// The last commit that was dropped, because too much waited.
    package private(set) var lostThrough: UInt64?
    package var applied: [AppliedBatch] = []
    package var packed: [PackedPiece] = []
    /// Sets of subscriptions, each with the number of commits that were made before it.
    ///
    /// The order matters: neither of two subscriptions asks for what is evicted between them.
    package private(set) var subscriptions: [(afterCommits: Int, queries: [SubscriptionQuery])] = []
    /// The number of the latest set.
    private(set) var subscriptionsNumber: UInt64 = 0
    package var policyChanged = false
    /// Another session has finished work that this session waits for.
    package var nudged = false
    /// Events of statements between the peers, in order.
    var questions: [QuestionInput] = []
    /// Results of statements that run for the peer.
    var queried: [QueryJob.Piece] = []
    /// A time has come at which the session wanted to be called.
    package var isDue = false
    package var chunks: [[UInt8]] = []
    package var linkEnd: LinkError?
    /// Why the session must end.
    package var closing: SyncError?
    /// What the peer that has said hello may do, once it is admitted.
    package fileprivate(set) var admitted: PeerAccess?
    /// How long the peer may take to show a sign of life.
    package var signOfLife: Duration?
    /// This peer's presence.
    var ownPresence: SignedPresence?
    /// Messages about revocations to send, in order.
    var revocations: [[UInt8]] = []
    /// Whether to ask the peer for its presence.
    var observesPresence: Bool?
    package var cancelled = false

    /// Records new subscriptions; of several sets with no commit between them, the last one counts.
    mutating func subscribe(to queries: [SubscriptionQuery], number: UInt64 = 0) {
      subscriptionsNumber = number
      if subscriptions.last?.afterCommits == commits.count { subscriptions.removeLast() }
      subscriptions.append((commits.count, queries))
    }

    fileprivate mutating func add(_ commit: Commit) { commits.append(commit) }

    /// Drops the waiting commits, up to and including one that was not queued.
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
    /// Received bytes that the session has not processed, including those that were taken out.
    var chunkBytes = 0
    var commitBytes = 0
    var discards = false
    /// Why the session has no peer any longer, once that was posted.
    var ending: LinkError?
  }

  private let state = NIOLockedValueBox(State())
  private let unseen: UnseenBytes

  /// Makes an empty inbox.
  ///
  /// - Parameter unseen: Counts the received bytes that all inboxes of a peer hold.
  package init(_ unseen: UnseenBytes = UnseenBytes()) { self.unseen = unseen }

  deinit { unseen.add(-state.withLockedValue { $0.chunkBytes }) }

  /// Posts a change.
  ///
  /// - Returns: Whether the caller now holds the turn, and must make sure that the inbox is drained.
  func post(_ change: (inout Input) -> Void) -> Bool {
    state.withLockedValue { state in
      Self.post(&state) { state in
        change(&state.input)
        state.ending = state.ending ?? state.input.linkEnd ?? (state.input.cancelled ? .cancelled : nil)
      }
    }
  }

  /// Why what the session sends reaches nobody: the link is gone, or the session was cancelled.
  ///
  /// It is known before the session has processed what was posted earlier.
  var ending: LinkError? { state.withLockedValue { $0.ending } }

  /// Posts bytes that the link received.
  func post(chunk: [UInt8]) -> Bool {
    state.withLockedValue { state in
      Self.post(&state) { state in
        state.input.chunks.append(chunk)
        state.chunkBytes += chunk.count
        unseen.add(chunk.count)
      }
    }
  }

  /// Posts that the peer is admitted, and what it may do.
  func postAdmission(_ access: PeerAccess) -> Bool {
    state.withLockedValue { state in
      Self.post(&state) { $0.input.admitted = access }
    }
  }

  /// Posts a commit.
  ///
  /// Beyond the bound all waiting commits are dropped, and only that fact is posted.
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

  /// The input for the caller that holds the turn, and whether it still holds the turn.
  package enum Taken {
    case input(Input)
    /// There was no input, and the turn was kept.
    case nothing
    /// There was no input, and the turn was released.
    ///
    /// Another thread may hold the turn by now, so the caller must not use anything that belongs to it.
    case turnGiven
  }

  /// Takes all input; for the caller that holds the turn.
  ///
  /// The caller reports with ``sawChunks(allBut:)`` which received bytes the session has processed.
  ///
  /// - Parameters:
  ///   - keepingTurn: Whether the turn is kept when there is no input.
  ///   - holdingChunks: Whether received bytes stay, because the session has yet to process earlier input.
  /// - Returns: The input.
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

  /// Records that the session has processed the received bytes that were taken, except `rest`.
  ///
  /// `rest` is put back before all bytes received since. Only the caller that holds the turn may call this.
  /// Until then the bytes count as unprocessed, so that the link does not use the room of those that may be
  /// put back.
  package func sawChunks(allBut rest: ArraySlice<[UInt8]>) {
    state.withLockedValue { state in
      guard !state.discards else { return }
      state.input.chunks = rest + state.input.chunks
      let before = state.chunkBytes
      state.chunkBytes = state.input.chunks.reduce(0) { $0 + $1.count }
      unseen.add(state.chunkBytes - before)
    }
  }

  /// Bytes of commits that the session has not processed.
  package var commitBytes: Int { state.withLockedValue { $0.commitBytes } }

  /// Whether commits wait that the session has not processed.
  package var hasCommits: Bool { state.withLockedValue { !$0.input.commits.isEmpty } }

  /// Whether more may be received.
  var hasRoom: Bool {
    state.withLockedValue { $0.discards || $0.chunkBytes < unseen.limit }
  }

  /// Drops all input from now on: the session is over, and nobody gets the turn again.
  func discard() {
    state.withLockedValue { state in
      state.input = Input()
      state.discards = true
      unseen.add(-state.chunkBytes)
      state.chunkBytes = 0
    }
  }
}

/// The received bytes that all sessions of a peer have not processed.
package final class UnseenBytes: Sendable {
  private let total = Atomic(0)

  package init() {}

  /// How many bytes there are.
  package var count: Int { total.load(ordering: .relaxed) }

  func add(_ bytes: Int) { total.add(bytes, ordering: .relaxed) }

  /// How many bytes one session may hold before its link is not read.
  ///
  /// A session that holds fewer can always go on. So the limit needs no wake-up: a session that holds as many
  /// reads again when it has processed its own.
  var limit: Int {
    count < DriverLimits.allUnseenBytes ? DriverLimits.unseenBytes : DriverLimits.leastUnseenBytes
  }
}

/// The result of one batch.
package struct AppliedBatch: Sendable {
  package let ticket: UInt64
  package let result: Result<ApplyOutcome, any Error>
}

extension Commit {
  /// The approximate memory of the commit, in bytes.
  fileprivate var byteCount: Int {
    changes.reduce(64) { $0 + ($1.before?.bytes.count ?? 0) + ($1.after?.bytes.count ?? 0) + 192 }
  }
}
