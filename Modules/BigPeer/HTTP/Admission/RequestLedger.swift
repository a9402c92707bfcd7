#if Server
  import Synchronization

  /// The requests that are being answered, and the bytes of their bodies, by key.
  final class RequestLedger: Sendable {
    private struct Account {
      var requests = 0
      var bytes = 0
      var isEmpty: Bool { requests == 0 && bytes == 0 }
    }

    private struct State {
      var all = Account()
      var byKey: [String: Account] = [:]
    }

    private let limits: HTTPLimits
    private let state = Mutex(State())

    init(_ limits: HTTPLimits) { self.limits = limits }

    /// Requests that are being answered.
    var count: Int { state.withLock { $0.all.requests } }

    /// Counts a request until ``end(of:bytes:)``.
    ///
    /// - Throws: `busy` when as many are being answered as may be.
    func begin(for key: String) throws(Problem) {
      let isAdmitted = state.withLock { state in
        guard state.all.requests < limits.requests,
          state.byKey[key, default: Account()].requests < limits.requestsByKey
        else { return false }
        state.all.requests += 1
        state.byKey[key, default: Account()].requests += 1
        return true
      }
      guard isAdmitted else {
        throw Problem.busy("as many requests are being answered as may be")
      }
    }

    /// Takes room for bytes of a body.
    ///
    /// - Throws: `busy` when there is none.
    func reserve(_ bytes: Int, for key: String) throws(Problem) {
      let isThere = state.withLock { state in
        guard state.all.bytes + bytes <= limits.allBodyBytes,
          state.byKey[key, default: Account()].bytes + bytes <= max(limits.allBodyBytes / 4, limits.bodyBytes)
        else { return false }
        state.all.bytes += bytes
        state.byKey[key, default: Account()].bytes += bytes
        return true
      }
      guard isThere else { throw Problem.busy("the bodies of requests take as much memory as they may") }
    }

    /// A request is over.
    func end(of key: String, bytes: Int) {
      state.withLock { state in
        state.all.requests -= 1
        state.all.bytes -= bytes
        guard var account = state.byKey[key] else { return }
        account.requests -= 1
        account.bytes -= bytes
        state.byKey[key] = account.isEmpty ? nil : account
      }
    }
  }
#endif
