#if Server
  import HTTPTypes
  import Synchronization

  /// The requests in progress, and the bytes of their bodies, by key.
  final class RequestLedger: Sendable {
    private struct Account {
      var requests = 0
      var bytes = 0
      var readers = 0
      var isEmpty: Bool { requests == 0 && bytes == 0 && readers == 0 }
    }

    private struct State {
      var all = Account()
      var byKey: [String: Account] = [:]
    }

    private let live: Mutex<HTTPLimits>
    private var limits: HTTPLimits { live.withLock { $0 } }
    private let state = Mutex(State())

    init(_ limits: HTTPLimits) { live = Mutex(limits) }

    /// Uses other limits; requests in progress stay.
    func update(_ limits: HTTPLimits) { live.withLock { $0 = limits } }

    /// The number of requests in progress.
    var count: Int { state.withLock { $0.all.requests } }

    /// Counts a request until ``end(of:bytes:)``.
    ///
    /// - Throws: `busy` when the maximum number of requests is in progress.
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

    /// Counts a result that is being read, until ``end(of:bytes:readers:)``.
    ///
    /// - Throws: `busy` when the key reads the maximum number of results.
    func beginReading(for key: String) throws(Problem) {
      let isAdmitted = state.withLock { state in
        guard
          state.byKey[key, default: Account()].readers < limits.readersByKey
            || state.all.readers < limits.readersByKey * 2
        else { return false }
        state.all.readers += 1
        state.byKey[key, default: Account()].readers += 1
        return true
      }
      guard isAdmitted else { throw Problem.tooManyReaders }
    }

    /// The maximum size of the bodies of one key's requests, in bytes.
    private var bytesByKey: Int { max(limits.allBodyBytes / 4, limits.bodyBytes) }

    /// Reserves room for bytes of a body.
    ///
    /// - Parameters:
    ///   - bytes: The number of additional bytes.
    ///   - own: The number of bytes that the request has already reserved.
    ///   - key: The key of the request.
    /// - Throws: `busy` when there is no room now; `bodyTooLarge` for a request that can never have enough.
    func reserve(_ bytes: Int, beside own: Int, for key: String) throws(Problem) {
      guard own + bytes <= min(bytesByKey, limits.allBodyBytes) else {
        throw Problem(
          .contentTooLarge, "bodyTooLarge",
          "the values of the body take more memory than those of one key may")
      }
      let isThere = state.withLock { state in
        guard state.all.bytes + bytes <= limits.allBodyBytes,
          state.byKey[key, default: Account()].bytes + bytes <= bytesByKey
        else { return false }
        state.all.bytes += bytes
        state.byKey[key, default: Account()].bytes += bytes
        return true
      }
      guard isThere else { throw Problem.busy("the bodies of requests take as much memory as they may") }
    }

    /// Ends the counting of a request and its resources.
    func end(of key: String, bytes: Int, readers: Int) {
      state.withLock { state in
        state.all.requests -= 1
        state.all.bytes -= bytes
        state.all.readers -= readers
        guard var account = state.byKey[key] else { return }
        account.requests -= 1
        account.bytes -= bytes
        account.readers -= readers
        state.byKey[key] = account.isEmpty ? nil : account
      }
    }
  }

  extension Problem {
    /// The problem when no thread is free to read a result.
    static let tooManyReaders = busy("as many results are being read as may be")
  }
#endif
