import CRDTCore

/// An action for statements between peers.
public enum QueryAction: Sendable {
  /// Run the job on a thread that may block, and pass its pieces to `Session.queried`.
  ///
  /// Only if the configuration answers statements.
  case run(QueryJob)
  /// Rows of the question with this number, and the bytes of its answer received so far.
  ///
  /// Report the bytes that were processed with `Session.tookRows`.
  case rows(UInt64, [QueryRow], received: UInt64)
  /// The answer to the question with this number has ended.
  case ended(UInt64, QueryEnd)
}

extension Session {
  /// Asks the other peer to run a statement; the answer arrives as ``Action/query(_:)``, in any number of pieces.
  ///
  /// Before the session is open, the answer is the error `closed`. A closed session returns no actions and ends no
  /// question: after ``Action/close(_:)`` the driver itself has to end the open ones.
  ///
  /// - Parameters:
  ///   - number: Identifies the question; higher than all earlier numbers of this session.
  ///   - question: The statement.
  ///   - now: The time.
  /// - Returns: Actions.
  public func ask(_ number: UInt64, _ question: QueryQuestion, now: Duration) -> [Action] {
    step(now) { () throws(SyncError) in
      guard case .open = state else { return statements.refuse(asked: number) }
      statements.ask(number, question)
    }
  }

  /// Stops a question whose answer is no longer wanted: nothing more arrives for it, not even its end.
  public func stopAsking(_ number: UInt64, now: Duration) -> [Action] {
    step(now) { () throws(SyncError) in statements.stop(number) }
  }

  /// Reports how much of an answer was processed, which lets the other peer send more.
  ///
  /// - Parameters:
  ///   - number: Identifies the question.
  ///   - taken: The total bytes of its rows that were processed, at most those received; it never decreases.
  ///   - now: The time.
  /// - Returns: Actions.
  public func tookRows(of number: UInt64, through taken: UInt64, now: Duration) -> [Action] {
    step(now) { () throws(SyncError) in statements.grant(number, through: taken) }
  }

  /// Processes the pieces of a job, in the job's order.
  public func queried(_ piece: QueryJob.Piece, now: Duration) -> [Action] {
    step(now) { () throws(SyncError) in statements.take(piece) }
  }

  /// Cancels all statements that run for the other peer when the link is gone; a session that ends does so itself.
  package func cancelQueries() { statements.cancel() }

  /// Processes frames of statements between peers.
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
