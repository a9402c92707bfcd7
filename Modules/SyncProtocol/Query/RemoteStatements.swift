import CRDTCore

/// The statements that a session sends to the other peer, and those that it runs for that peer.
///
/// The asker grants credit as it reads rows: a slow reader stops the sender. So changes of documents do not
/// wait behind a long answer.
final class RemoteStatements {
  /// A statement that the other peer runs.
  private final class Asked {
    /// Bytes of an incomplete row.
    var input: [UInt8] = []
    let limits: RemoteQueryLimits
    var rows = 0
    var bytes = 0
    let deadline: Duration

    init(limits: RemoteQueryLimits, deadline: Duration) {
      self.limits = limits
      self.deadline = deadline
    }
  }

  /// A statement that this peer runs.
  private final class Answer {
    let job: QueryJob
    /// When the answer is dropped if the peer has not read it.
    let deadline: Duration
    /// The pieces that wait to be sent, and their bytes.
    var waiting: ArraySlice<[UInt8]> = []
    var waitingBytes = 0
    /// How many bytes of the first piece were sent.
    var offset = 0
    var sent: UInt64 = 0
    var consumed: UInt64 = 0
    var end: QueryEnd?
    /// Whether the peer has stopped the answer; it counts as running until the job has ended.
    var isStopped = false

    init(job: QueryJob, deadline: Duration) {
      self.job = job
      self.deadline = deadline
    }

    func add(_ piece: [UInt8]) {
      waiting.append(piece)
      waitingBytes += piece.count
    }

    func removeAll() {
      waiting = []
      (waitingBytes, offset) = (0, 0)
    }

    /// Removes and returns the next bytes to send, at most `limit`.
    func next(limit: Int) -> ArraySlice<UInt8>? {
      guard let piece = waiting.first else { return nil }
      let chunk = piece[offset...].prefix(limit)
      offset += chunk.count
      if offset == piece.count {
        waiting.removeFirst()
        waitingBytes -= piece.count
        offset = 0
      }
      sent += UInt64(chunk.count)
      return chunk
    }
  }

  /// The maximum bytes of an answer in one frame.
  private static let frameBytes = Limits.fragmentBytes
  /// Half of the bytes of all answers that may be in flight, at most.
  private static let mostHalf = 256 << 10
  /// The minimum bytes of each answer that may be in flight, however many answers there are.
  private static let leastSpan = 64 << 10

  private let context: SessionContext
  private var asked: [UInt64: Asked] = [:]
  private var answers: [UInt64: Answer] = [:]
  private var lastAsked: UInt64 = 0

  /// How long both ends wait beyond the time limit, to allow for the transfer.
  static let grace = Duration.seconds(10)

  init(_ context: SessionContext) { self.context = context }

  // MARK: - Asking

  /// Rejects a question because the session is not open.
  func refuse(asked number: UInt64) { end(number, RemoteQueryError(.closed, "the peers have not met")) }

  /// Sends a question.
  func ask(_ number: UInt64, _ question: QueryQuestion) {
    asked[number] = Asked(limits: question.limits, deadline: context.now + question.limits.time + Self.grace)
    context.send(.ask) { out in
      out.writeVarint(number)
      question.encode(to: &out)
    }
  }

  /// Stops a question whose answer is no longer wanted.
  func stop(_ number: UInt64) {
    guard asked.removeValue(forKey: number) != nil else { return }
    context.send(.stopAsk) { out in
      out.writeVarint(number)
      out.write(0)
    }
  }

  /// Sends the peer the total bytes of an answer that have been read.
  func grant(_ number: UInt64, through consumed: UInt64) {
    guard asked[number] != nil else { return }
    context.send(.stopAsk) { out in
      out.writeVarint(number)
      out.write(1)
      out.writeVarint(consumed)
    }
  }

  /// Processes a part of an answer; parts of a stopped answer are dropped.
  func receiveRows(_ reader: inout ByteReader) throws(CodecError) {
    let number = try reader.readVarint()
    let content = try reader.readBytes(reader.remaining)
    guard let entry = asked[number] else { return }
    entry.bytes += content.byteCount
    unsafe content.withUnsafeBytes { unsafe entry.input += $0 }
    var rows: [QueryRow] = []
    var position = 0
    while let row = try Self.nextRow(entry.input.span.bytes, at: &position) { rows.append(row) }
    entry.input.removeFirst(position)
    entry.rows += rows.count
    guard entry.bytes <= entry.limits.bytes, entry.rows <= entry.limits.rows else {
      stop(number)
      return end(
        number, RemoteQueryError(.limit, "the other peer answers with more than was asked for"))
    }
    context.ask(.query(.rows(number, rows, received: UInt64(entry.bytes))))
  }

  private static func nextRow(_ bytes: RawSpan, at position: inout Int) throws(CodecError) -> QueryRow? {
    var reader = ByteReader(bytes, offset: position)
    guard let length = try reader.readVarintIfComplete(), length <= UInt64(reader.remaining) else {
      return nil
    }
    let content = try reader.readBytes(Int(length))
    defer { position = reader.offset }
    return try QueryRow(content, byteCount: reader.offset - position)
  }

  /// Processes the end of an answer.
  func receiveEnd(_ number: UInt64, _ end: QueryEnd) throws(SyncError) {
    guard let entry = asked.removeValue(forKey: number) else { return }
    // An answer that was given up may end inside a row.
    guard end.error != nil || entry.input.isEmpty && end.rows == entry.rows else {
      throw SyncError(.malformed, "an answer ends inside a row, or has another number of rows than it says")
    }
    context.ask(.query(.ended(number, end)))
  }

  private func end(_ number: UInt64, _ error: RemoteQueryError) {
    context.ask(.query(.ended(number, QueryEnd(error: error, rows: 0, time: .zero))))
  }

  // MARK: - Answering

  /// Processes a question of the peer.
  func receive(_ number: UInt64, _ question: QueryQuestion) throws(SyncError) {
    guard number > lastAsked else { throw SyncError(.outOfOrder, "A statement's number is not a new one") }
    lastAsked = number
    guard context.configuration.answersRemoteQueries else {
      return refuse(number, RemoteQueryError(.denied, "the other peer runs no statements for others"))
    }
    guard context.access.runsStatements else {
      return refuse(number, RemoteQueryError(.denied, "this peer's grant lets it run no statements there"))
    }
    guard answers.count < SyncLimits.remoteQueries else {
      return refuse(
        number, RemoteQueryError(.limit, "the other peer runs \(SyncLimits.remoteQueries) statements already")
      )
    }
    let limits = question.limits.lesser(context.configuration.remoteQueryLimits)
    let job = QueryJob(number: number, question: question.within(limits))
    answers[number] = Answer(job: job, deadline: context.now + limits.time + Self.grace)
    context.ask(.query(.run(job)))
  }

  private func refuse(_ number: UInt64, _ error: RemoteQueryError) {
    send(QueryEnd(error: error, rows: 0, time: .zero), of: number)
  }

  private func send(_ end: QueryEnd, of number: UInt64) {
    context.send(.answered) { out in
      out.writeVarint(number)
      end.encode(to: &out)
    }
  }

  /// Bytes of answers that the peer has not read.
  var waitingBytes: Int { answers.values.reduce(0) { $0 + $1.waitingBytes } }

  /// Queues a piece of a job's result.
  func receive(_ piece: QueryJob.Piece) {
    guard let answer = answers[piece.number] else { return }
    answer.end = piece.end
    if !answer.isStopped, !piece.bytes.isEmpty {
      let bytes = waitingBytes + piece.bytes.count
      if bytes <= SyncLimits.unreadAnswerBytes, context.shared.memory.mayAnswer(bytes, context.id) {
        answer.add(piece.bytes)
      } else {
        refuse(piece.number, RemoteQueryError(.limit, "answers that were not read take too much room"))
        drop(answer, piece.number)
      }
    }
    if answer.isStopped, answer.end != nil { answers[piece.number] = nil }
  }

  /// Processes the peer's stop of an answer, or its credit: how many bytes of the answer it has read.
  func receiveControl(_ number: UInt64, consumed: UInt64?) throws(SyncError) {
    guard let answer = answers[number] else { return }
    if let consumed {
      guard consumed >= answer.consumed, consumed <= answer.sent else {
        throw SyncError(.malformed, "More of an answer is taken than was sent")
      }
      answer.consumed = consumed
      return
    }
    drop(answer, number)
  }

  /// Drops an answer and cancels its job.
  private func drop(_ answer: Answer, _ number: UInt64) {
    answer.job.cancel()
    answer.isStopped = true
    answer.removeAll()
    if answer.end != nil { answers[number] = nil }
  }

  /// Cancels all statements that run here.
  ///
  /// The session is over, but waiting jobs may keep it in memory for longer.
  func cancel() {
    for (number, answer) in answers { drop(answer, number) }
  }

  /// Sends waiting answers, in the order of their numbers, as far as the peer has read what was sent.
  func work(pieceBytes: Int) {
    guard !answers.isEmpty else { return }
    let half = min(pieceBytes, Self.mostHalf)
    // Data in flight is in memory too, while the link does not accept it.
    let span = UInt64(max(half * 2 / answers.count, min(half, Self.leastSpan)))
    for number in answers.keys.sorted() {
      guard let answer = answers[number], !answer.isStopped else { continue }
      while answer.sent - answer.consumed < span, let chunk = answer.next(limit: min(half, Self.frameBytes)) {
        context.send(.rows) { out in
          out.writeVarint(number)
          out.write(chunk)
        }
      }
      guard answer.waiting.isEmpty, let end = answer.end else { continue }
      send(end, of: number)
      answers[number] = nil
    }
  }

  // MARK: - Time

  /// When the first question or answer times out.
  var deadline: Duration? {
    let answers = answers.values.lazy.filter { !$0.isStopped }.map(\.deadline)
    return (asked.values.map(\.deadline) + answers).min()
  }

  /// Ends questions and answers that have timed out; other traffic, such as pings, does not extend the time.
  func checkTime(_ now: Duration) {
    for number in answers.filter({ !$0.value.isStopped && $0.value.deadline <= now }).keys.sorted() {
      guard let answer = answers[number] else { continue }
      refuse(number, RemoteQueryError(.timeout, "the answer was not read in time"))
      drop(answer, number)
    }
    for number in asked.filter({ $0.value.deadline <= now }).keys.sorted() {
      stop(number)
      end(number, RemoteQueryError(.timeout, "the other peer did not answer in time"))
    }
  }
}

extension ByteReader {
  /// Reads a varint that may be incomplete.
  fileprivate mutating func readVarintIfComplete() throws(CodecError) -> UInt64? {
    var probe = 0
    while probe < remaining, probe < 10 {
      if unsafe bytes.unsafeLoadUnaligned(fromByteOffset: offset + probe, as: UInt8.self) < 0x80 {
        return try readVarint()
      }
      probe += 1
    }
    guard probe < 10 else { throw failure(.malformed, "a row's length is too long") }
    return nil
  }
}
