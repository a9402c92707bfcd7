#if Server
  import Synchronization

  /// What becomes known of a request while it is answered, for the log and the figures.
  package final class RequestRecord: Sendable {
    struct Content {
      var application: String?
      var key: String?
      /// Why it failed after the answer had begun.
      var failure: String?
    }

    private let state = Mutex(Content())

    var content: Content { state.withLock { $0 } }

    func note(application: String, key: String) {
      state.withLock { ($0.application, $0.key) = (application, key) }
    }

    func note(failure: String) { state.withLock { $0.failure = failure } }
  }
#endif
