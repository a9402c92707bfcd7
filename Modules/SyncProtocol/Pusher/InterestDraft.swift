import CRDTCore

/// A peer's interest while its frames come and its queries are taken apart.
///
/// A long query takes a millisecond or two, and an interest has hundreds: between two of them others have their turn.
struct InterestDraft {
  /// How the peer goes on under it, where it named an interest of an earlier session and sent none.
  let resume: ResumeFrame?
  private(set) var generation: UInt64 = 0
  private(set) var isContinued = false
  /// Bytes on the wire.
  private(set) var byteCount = 0
  /// Whether all of its frames have come.
  private(set) var isWhole: Bool
  private var builder = InterestBuilder()
  private var parts = WorkQueue<InterestFrame.EncodedQuery>()
  private var queryCount = 0
  private var waitingBytes = 0

  /// Begins one of which the frames come.
  init() {
    resume = nil
    isWhole = false
  }

  /// Begins one that is known from an earlier session.
  init(_ queries: [[UInt8]], for resume: ResumeFrame) {
    self.resume = resume
    generation = resume.generation
    isWhole = true
    add(queries.map { InterestFrame.EncodedQuery(bytes: $0, offset: 0) })
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
    add(frame.queries)
  }

  private mutating func add(_ queries: [InterestFrame.EncodedQuery]) {
    waitingBytes += queries.reduce(0) { $0 + $1.bytes.count + 64 }
    parts.append(contentsOf: queries)
  }

  /// Bytes of the query that is taken apart next; `nil` where none waits.
  var nextBytes: Int? { parts.first?.bytes.count }

  /// Takes the next query apart, and compiles it.
  ///
  /// - Returns: How many steps an evaluation of its conditions takes.
  /// - Throws: What is wrong with it, by its place in its frame's payload.
  mutating func takeNext() throws(CodecError) -> Int {
    guard let query = parts.removeFirst() else { return 0 }
    waitingBytes -= query.bytes.count + 64
    return builder.insert(try query.decoded())
  }

  /// About what it takes in memory.
  var memoryBytes: Int { waitingBytes + builder.memoryBytes }

  func finish() -> Interest { builder.finish() }
}
