#if Server
  import Synchronization

  /// The note of one write in the traces of transactions, which is removed unless the write succeeds.
  final class CommitNote: Sendable {
    private let context: TraceContext?
    private let traces: CommitTraces
    /// The transaction that is noted and not confirmed.
    private let sequence = Mutex<UInt64?>(nil)

    /// - Parameters:
    ///   - context: The trace of the request; without one nothing is noted.
    ///   - traces: The traces of the application's transactions.
    init(_ context: TraceContext?, _ traces: CommitTraces) { (self.context, self.traces) = (context, traces) }

    /// Notes the transaction, from inside of it.
    func make(_ transaction: UInt64) {
      guard let context else { return }
      end()
      traces.note(context, of: transaction)
      sequence.withLock { $0 = transaction }
    }

    /// Keeps the note, as the transaction is committed.
    func confirm() { sequence.withLock { $0 = nil } }

    /// Removes a note that is not confirmed.
    func end() {
      let noted = sequence.withLock { noted in
        defer { noted = nil }
        return noted
      }
      if let context, let noted { traces.remove(noted, context) }
    }
  }
#endif
