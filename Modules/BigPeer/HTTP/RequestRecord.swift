#if Server
  import QueryEngine
  import Synchronization

  /// The data that is collected about a request for the log and the figures, and whether it is still needed.
  package final class RequestRecord: Sendable {
    struct Content {
      var application: String?
      var key: String?
      /// Why it failed after the response had begun.
      var failure: String?
      /// The server's error, only for the log.
      var error: (any Error)?
    }

    private struct State {
      var content = Content()
      /// Whether the request was admitted with the administrator's token.
      var hasToken = false
      var statement: StatementContext?
      /// Why it is not carried out.
      var ending: Problem?
    }

    private let state = Mutex(State())

    var content: Content { state.withLock { $0.content } }

    func note(application: String, key: String) {
      state.withLock { ($0.content.application, $0.content.key) = (application, key) }
    }

    /// Records that the request was admitted with the administrator's token.
    func noteToken() { state.withLock { $0.hasToken = true } }

    /// What the request was admitted with: the id of its key, or a word for the token; `nil` if it was not.
    var credential: String? { state.withLock { $0.content.key ?? ($0.hasToken ? "token" : nil) } }

    func note(failure: String) { state.withLock { $0.content.failure = failure } }

    func note(error: any Error) { state.withLock { $0.content.error = error } }

    // MARK: - Ending

    /// Records the statement that is executed for the request; the statement ends with the connection.
    func execute(_ statement: StatementContext) {
      let isOver = state.withLock { state in
        state.statement = statement
        return state.ending != nil
      }
      if isOver { statement.cancel() }
    }

    /// Records that the response is no longer needed, and cancels the statement.
    func abandon(_ problem: Problem) {
      let statement = state.withLock { state in
        if state.ending == nil { state.ending = problem }
        if state.content.failure == nil { state.content.failure = problem.code.rawValue }
        return state.statement
      }
      statement?.cancel()
    }

    /// Checks that the response is still needed.
    ///
    /// - Throws: The problem because of which it is not.
    func checkIsNeeded() throws(Problem) { if let ending = state.withLock({ $0.ending }) { throw ending } }
  }
#endif
