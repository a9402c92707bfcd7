#if Server
  import QueryEngine
  import Synchronization

  /// What becomes known of a request while it is answered, for the log and the figures, and whether it is needed still.
  package final class RequestRecord: Sendable {
    struct Content {
      var application: String?
      var key: String?
      /// Why it failed after the answer had begun.
      var failure: String?
      /// What the server failed with, for the log alone.
      var error: (any Error)?
    }

    private struct State {
      var content = Content()
      var statement: StatementContext?
      /// Why it is not carried out.
      var ending: Problem?
    }

    private let state = Mutex(State())

    var content: Content { state.withLock { $0.content } }

    func note(application: String, key: String) {
      state.withLock { ($0.content.application, $0.content.key) = (application, key) }
    }

    func note(failure: String) { state.withLock { $0.content.failure = failure } }

    func note(error: any Error) { state.withLock { $0.content.error = error } }

    // MARK: - Ending

    /// A statement is executed for the request, and ends with the connection.
    func execute(_ statement: StatementContext) {
      let isOver = state.withLock { state in
        state.statement = statement
        return state.ending != nil
      }
      if isOver { statement.cancel() }
    }

    /// Nobody waits for the answer any more.
    func abandon(_ problem: Problem) {
      let statement = state.withLock { state in
        if state.ending == nil { state.ending = problem }
        if state.content.failure == nil { state.content.failure = problem.code }
        return state.statement
      }
      statement?.cancel()
    }

    /// Sees to it that somebody waits for the answer.
    ///
    /// - Throws: Why not.
    func checkIsNeeded() throws(Problem) { if let ending = state.withLock({ $0.ending }) { throw ending } }
  }
#endif
