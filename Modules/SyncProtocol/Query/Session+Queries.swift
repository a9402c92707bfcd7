import CRDTCore

/// What a session asks of its driver for statements between peers.
public enum QueryAction: Sendable {
  /// Run the job where it may take its time, and hand its pieces to `Session.queried`; comes only where the configuration
  /// answers statements.
  case run(QueryJob)
  /// Rows that came for the question of that number, with the bytes of its answer received so far: report what was taken with
  /// `Session.tookRows`.
  case rows(UInt64, [QueryRow], received: UInt64)
  /// The answer to the question of that number is over; nothing more comes for it.
  case ended(UInt64, QueryEnd)
}

extension Session {
  /// Asks the other peer to run a statement; the answer comes as ``Action/query(_:)``, in any number of pieces.
  ///
  /// Before the peers have met the answer is the error `closed`. A session that is over returns nothing here, and ends no
  /// question: a driver that sees ``Action/close(_:)`` ends those that are open itself.
  ///
  /// - Parameters:
  ///   - number: Names the question; above those of all earlier ones of this session.
  ///   - question: The statement.
  ///   - now: The time.
  /// - Returns: Actions.
  public func ask(_ number: UInt64, _ question: QueryQuestion, now: Duration) -> [Action] {
    step(now) { () throws(SyncError) in
      guard case .open = state else { return statements.refuse(asked: number) }
      statements.ask(number, question)
    }
  }

  /// Ends a question whose answer nobody wants any more: nothing more comes for it, no end either.
  public func stopAsking(_ number: UInt64, now: Duration) -> [Action] {
    step(now) { () throws(SyncError) in statements.stop(number) }
  }

  /// Says how much of an answer was taken, so that more may come: the other peer sends only so far ahead.
  ///
  /// - Parameters:
  ///   - number: Names the question.
  ///   - taken: Bytes of its rows that were taken in all, at most those received; it never falls.
  ///   - now: The time.
  /// - Returns: Actions.
  public func tookRows(of number: UInt64, through taken: UInt64, now: Duration) -> [Action] {
    step(now) { () throws(SyncError) in statements.grant(number, through: taken) }
  }

  /// Takes what a job has found, piece by piece, in the job's order.
  public func queried(_ piece: QueryJob.Piece, now: Duration) -> [Action] {
    step(now) { () throws(SyncError) in statements.take(piece) }
  }

  /// Ends all statements that run for the other peer, where the link is gone; a session that ends does so by itself.
  package func cancelQueries() { statements.cancel() }

  /// Frames of statements between peers.
  func takeQuery(_ type: FrameType, _ reader: inout ByteReader) throws(FrameFailure) {
    switch type {
    case .ask:
      let (number, question) = try whole(&reader) { (reader) throws(CodecError) in
        (try reader.readVarint(), try QueryQuestion(from: &reader))
      }
      try run { () throws(SyncError) in try statements.take(number, question) }
    case .rows:
      try whole(&reader) { (reader) throws(CodecError) in try statements.takeRows(&reader) }
    case .answered:
      let (number, end) = try whole(&reader) { (reader) throws(CodecError) in
        (try reader.readVarint(), try QueryEnd(from: &reader))
      }
      try run { () throws(SyncError) in try statements.takeEnd(number, end) }
    case .stopAsk:
      let (number, taken) = try whole(&reader) { (reader) throws(CodecError) -> (UInt64, UInt64?) in
        let number = try reader.readVarint()
        guard try reader.readFlag() else { return (number, nil) }
        return (number, try reader.readVarint())
      }
      try run { () throws(SyncError) in try statements.takeControl(number, taken: taken) }
    default: return
    }
  }
}
