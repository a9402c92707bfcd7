import CRDTCore

/// A peer's interest while its frames arrive and its queries are compiled.
///
/// A long query takes a millisecond or two, and an interest has hundreds. Between two queries, other
/// sessions run.
struct InterestDraft {
  /// The resume request, if the peer named an interest of an earlier session instead of sending one.
  let resume: ResumeFrame?
  private(set) var generation: UInt64 = 0
  private(set) var isContinued = false
  /// Bytes on the wire.
  private(set) var byteCount = 0
  /// Whether all of its frames have arrived.
  private(set) var isWhole: Bool
  private var builder = InterestBuilder()
  private var waiting = WorkQueue<InterestFrame.EncodedQuery>()
  private var queryCount = 0
  private var waitingBytes = 0

  /// Begins an interest whose frames follow.
  init() {
    resume = nil
    isWhole = false
  }

  /// Begins an interest that is known from an earlier session.
  init(_ queries: [[UInt8]], for resume: ResumeFrame) {
    self.resume = resume
    generation = resume.generation
    isWhole = true
    add(queries.map { InterestFrame.EncodedQuery(bytes: $0, offset: 0) })
  }

  /// Adds the next frame.
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
    waiting.append(contentsOf: queries)
  }

  /// Bytes of the query that is compiled next; `nil` if none waits.
  var nextBytes: Int? { waiting.first?.bytes.count }

  /// Decodes and compiles the next query.
  ///
  /// - Returns: How many steps an evaluation of its conditions takes.
  /// - Throws: What is wrong with it, with the offset in its frame's payload.
  mutating func parseNext() throws(CodecError) -> Int {
    guard let query = waiting.removeFirst() else { return 0 }
    waitingBytes -= query.bytes.count + 64
    return builder.insert(try query.decoded())
  }

  /// Approximate memory in bytes.
  var memoryBytes: Int { waitingBytes + builder.memoryBytes }

  func finish() -> Interest { builder.finish() }
}
