#if Server
  import HTTPTypes
  import Synchronization

  /// The requests in progress, and the memory that they take, by key.
  final class RequestLedger: Sendable {
    private struct Account {
      var requests = 0
      var readers = 0
      var isEmpty: Bool { requests == 0 && readers == 0 }
    }

    private struct State {
      var all = Account()
      var byKey: [String: Account] = [:]
    }

    private let live: Mutex<HTTPLimits>
    private var limits: HTTPLimits { live.withLock { $0 } }
    private let state = Mutex(State())
    /// The bodies of requests, and the values in them.
    let bodies: ByteAccount
    /// What was made of responses and is not sent yet.
    let answers: ByteAccount
    /// The rows that statements gather before they have the first one.
    let gathered: ByteAccount
    /// The statements that make a row which takes much memory: one of a key at a time.
    let makers = ByteAccount(limit: AnswerShare.makers, limitByKey: 1)

    init(_ limits: HTTPLimits) {
      live = Mutex(limits)
      (bodies, answers, gathered) = (
        ByteAccount(limits.forBodies), ByteAccount(limits.forAnswers), ByteAccount(limits.forRows)
      )
    }

    /// Uses other limits; requests in progress stay.
    func update(_ limits: HTTPLimits) {
      live.withLock { $0 = limits }
      bodies.update(limits.forBodies)
      answers.update(limits.forAnswers)
      gathered.update(limits.forRows)
    }

    /// The number of requests in progress.
    var count: Int { state.withLock { $0.all.requests } }

    /// Counts a request until ``end(of:readers:)``.
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

    /// Counts a result that is being read, until ``end(of:readers:)``.
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

    /// Ends the counting of a request and its resources.
    func end(of key: String, readers: Int) {
      state.withLock { state in
        state.all.requests -= 1
        state.all.readers -= readers
        guard var account = state.byKey[key] else { return }
        account.requests -= 1
        account.readers -= readers
        state.byKey[key] = account.isEmpty ? nil : account
      }
    }
  }

  extension Problem {
    /// The problem when no thread is free to read a result.
    static let tooManyReaders = busy("as many results are being read as may be")

    /// The problem when unread responses leave no room for another one.
    static let answersAreFull = busy("answers that clients have not read take as much memory as they may")
  }

  extension HTTPLimits {
    /// One body always has room, and so have its texts as values.
    fileprivate var forBodies: ByteLimits {
      let byKey = max(allBodyBytes / 4, bodyBytes * 2 + (64 << 10))
      return ByteLimits(all: max(allBodyBytes, byKey), byKey: byKey)
    }

    /// One row, the small ones around it, and a response that is not streamed always have room.
    fileprivate var forAnswers: ByteLimits {
      let byKey = max(allAnswerBytes / 8 * 3, rowBytes + (4 << 20), answerBytes)
      return ByteLimits(all: max(allAnswerBytes, byKey), byKey: byKey)
    }

    fileprivate var forRows: ByteLimits {
      ByteLimits(
        all: max(allStatementBytes, statementBytes), byKey: max(allStatementBytes / 2, statementBytes))
    }
  }

  /// How many bytes all keys may hold, and one key.
  private struct ByteLimits {
    let all: Int
    let byKey: Int
  }

  extension ByteAccount {
    fileprivate convenience init(_ limits: ByteLimits) {
      self.init(limit: limits.all, limitByKey: limits.byKey)
    }

    fileprivate func update(_ limits: ByteLimits) { update(limit: limits.all, limitByKey: limits.byKey) }
  }
#endif
