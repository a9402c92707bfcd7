#if TLS
  import Foundation
  import Synchronization

  /// Asks the application for logins at the times that the schedule gives, one question at a time.
  final class LoginScheduler: Sendable {
    private struct State {
      var schedule = LoginSchedule()
      /// Asks the application; `nil` before there is a database to log in.
      var ask: (@Sendable (LoginSchedule.Question) async -> Void)?
      /// Called when the certificate has expired.
      var expired: (@Sendable () -> Void)?
      /// Waits for the time of the next action.
      var waiting: Task<Void, Never>?
      /// The task that asks the application.
      var question: Task<Void, Never>?
      var isClosed = false
    }

    /// Whether the current task is one that asks the application.
    @TaskLocal private static var isAsked = false

    private let time: LoginTime
    private let state = Mutex(State())

    init(_ time: LoginTime) { self.time = time }

    /// Starts.
    ///
    /// - Parameters:
    ///   - ask: Asks the application, and returns after the application has returned.
    ///   - expired: Called when the certificate has expired.
    func begin(
      ask: @escaping @Sendable (LoginSchedule.Question) async -> Void,
      expired: @escaping @Sendable () -> Void
    ) {
      state.withLock { ($0.ask, $0.expired) = (ask, expired) }
      proceed()
    }

    /// Ends: asks no more questions, and cancels the present one.
    func close() {
      let tasks = state.withLock { state in
        state.isClosed = true
        defer { (state.waiting, state.question, state.ask, state.expired) = (nil, nil, nil, nil) }
        return [state.waiting, state.question]
      }
      for task in tasks { task?.cancel() }
    }

    // MARK: - What happens

    /// Records that a certificate was obtained at a time, and expires at another.
    func granted(at time: Date, until end: Date) {
      state.withLock { $0.schedule.granted(at: time, until: end) }
      proceed()
    }

    /// Records that there is no longer a certificate, and cancels the present question.
    ///
    /// - Parameter isAsking: Whether to ask for another one.
    func lost(isAsking: Bool) {
      let question = state.withLock { state in
        state.schedule.lost(askingAt: isAsking ? time.now() : nil)
        return state.question
      }
      // An application that logs out while it is asked may continue with another login.
      if !Self.isAsked { question?.cancel() }
      proceed()
    }

    /// Makes the schedule ask the application if there is no certificate.
    func require() {
      state.withLock { $0.schedule.require(at: time.now()) }
      proceed()
    }

    /// Records that a login has failed.
    ///
    /// - Returns: The time until the application is asked again.
    func failed(isPassing: Bool, retryAfter: Duration?) -> Duration {
      let now = time.now()
      let next = state.withLock {
        $0.schedule.failed(at: now, isPassing: isPassing, retryAfter: retryAfter)
      }
      proceed()
      return .seconds(next.timeIntervalSince(now))
    }

    /// Records that the application could not even try to log in.
    func gaveUp() {
      state.withLock { $0.schedule.gaveUp(at: time.now()) }
      proceed()
    }

    // MARK: - What is done

    /// Performs the actions that are due, and waits for the next one.
    private func proceed() {
      state.withLock { state in
        guard !state.isClosed, state.ask != nil else { return }
        state.waiting?.cancel()
        state.waiting = Task { [weak self, time] in
          while !Task.isCancelled, let next = self?.advance() {
            guard (try? await time.wait(next)) != nil else { return }
          }
        }
      }
    }

    /// Performs the action that is due, if any.
    ///
    /// - Returns: When the next action is due; `nil` if only another event makes one due.
    private func advance() -> Date? {
      let now = time.now()
      let (step, expired) = state.withLock { state in
        let step = state.schedule.step(at: now)
        if case .ask(let question) = step { begin(question, &state) }
        return (step, state.expired)
      }
      switch step {
      case .ask: return now
      case .expire:
        expired?()
        return now
      case .wait(let time): return time
      }
    }

    private func begin(_ question: LoginSchedule.Question, _ state: inout State) {
      guard let ask = state.ask else { return }
      state.question = Task { [weak self] in
        if !Task.isCancelled { await Self.$isAsked.withValue(true) { await ask(question) } }
        self?.answered()
      }
    }

    private func answered() {
      state.withLock { $0.schedule.answered() }
      proceed()
    }
  }
#endif
