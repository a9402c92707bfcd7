#if Server
  import Synchronization

  /// The traces of the newest transactions that requests with a trace have made, for deliveries to webhooks.
  ///
  /// They are only in memory: after a restart deliveries have no trace.
  package final class CommitTraces: Sendable {
    private struct State {
      var contexts: [UInt64: TraceContext] = [:]
      /// The transactions in the order of their notes.
      var order: [UInt64] = []
    }

    /// The number of transactions that are kept.
    package static let limit = 1_024

    private let state = Mutex(State())

    package init() {}

    /// Notes the trace of a transaction.
    ///
    /// It is noted before the transaction is visible, as a delivery may begin at once.
    package func note(_ context: TraceContext, of sequence: UInt64) {
      state.withLock { state in
        if state.contexts.updateValue(context, forKey: sequence) == nil { state.order.append(sequence) }
        guard state.order.count >= Self.limit * 2 else { return }
        for old in state.order.prefix(Self.limit) { state.contexts[old] = nil }
        state.order.removeFirst(Self.limit)
      }
    }

    /// Removes the note of a transaction that was not committed.
    package func remove(_ sequence: UInt64, _ context: TraceContext) {
      state.withLock { state in
        guard state.contexts[sequence] == context else { return }
        state.contexts[sequence] = nil
        state.order.removeAll { $0 == sequence }
      }
    }

    /// The trace of a transaction; `nil` if it has none, or if it is too old.
    package subscript(sequence: UInt64) -> TraceContext? { state.withLock { $0.contexts[sequence] } }
  }
#endif
