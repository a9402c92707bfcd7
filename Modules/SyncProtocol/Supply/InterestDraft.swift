import CRDTCore
import QueryEngine

/// A peer's interest while its frames come and its queries are taken apart.
///
/// A long query takes a millisecond or two, and an interest has hundreds: between two of them others have their turn.
struct InterestDraft {
  private enum Part {
    case encoded(InterestFrame.EncodedQuery)
    /// One that the peer sent in an earlier session.
    case known(SubscriptionQuery)

    var byteCount: Int {
      switch self {
      case .encoded(let query): query.bytes.count
      case .known(let query): query.text.utf8.count
      }
    }
  }

  /// How the peer goes on under it, where it named an interest of an earlier session and sent none.
  let resume: ResumeFrame?
  private(set) var generation: UInt64 = 0
  private(set) var isContinued = false
  /// Bytes on the wire.
  private(set) var byteCount = 0
  /// Whether all of its frames have come.
  private(set) var isWhole: Bool
  private var builder = InterestBuilder(keepingAtMost: InterestCache.entryBytes)
  private var parts = WorkQueue<Part>()
  private var queryCount = 0
  private var waitingBytes = 0

  /// Begins one of which the frames come.
  init() {
    resume = nil
    isWhole = false
  }

  /// Begins one that is known: its queries were taken apart before, and are compiled again.
  init(_ queries: [SubscriptionQuery], for resume: ResumeFrame) {
    self.resume = resume
    generation = resume.generation
    isWhole = true
    parts.append(contentsOf: queries.map { .known($0) })
  }

  /// Takes the next frame.
  ///
  /// - Throws: `limit` where the queries are too many or too long.
  mutating func add(_ frame: InterestFrame) throws(SyncError) {
    queryCount += frame.queries.count
    byteCount += frame.byteCount
    guard queryCount <= Limits.subscriptionsPerPeer, byteCount <= SyncLimits.interestBytes else {
      throw SyncError(.limit, "The peer's subscriptions are too many or too long")
    }
    (generation, isContinued, isWhole) = (frame.generation, frame.isContinued, frame.isLast)
    waitingBytes += frame.queries.reduce(0) { $0 + $1.bytes.count + 64 }
    parts.append(contentsOf: frame.queries.map { .encoded($0) })
  }

  /// Bytes of the query that is taken apart next; `nil` where none waits.
  var nextBytes: Int? { parts.first?.byteCount }

  /// Takes the next query apart, and compiles it.
  ///
  /// - Returns: How many steps an evaluation of its conditions takes.
  /// - Throws: What is wrong with it, by its place in its frame's payload.
  mutating func takeNext() throws(CodecError) -> Int {
    switch parts.removeFirst() {
    case nil: return 0
    case .known(let query)?: return builder.insert(query)
    case .encoded(let query)?:
      waitingBytes -= query.bytes.count + 64
      return builder.insert(try query.decoded())
    }
  }

  /// About what it takes in memory.
  var memoryBytes: Int { waitingBytes + builder.memoryBytes }

  func finish() -> Interest { builder.finish() }
}
