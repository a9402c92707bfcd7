import Dispatch
import DocStore
import Synchronization

/// A snapshot that a thread of its own keeps open, for a transaction whose body awaits its statements.
final class SnapshotThread: Sendable {
  /// A read to be executed, or to be refused with an error.
  private struct Request: Sendable {
    let read: @Sendable (borrowing ReadTransaction) -> Void
    let refuse: @Sendable (DunlinError) -> Void
  }

  private struct State {
    var requests: [Request] = []
    /// Why reading has ended; `nil` while it goes on.
    var ending: DunlinError?
  }

  private let state = Mutex(State())
  private let wake = DispatchSemaphore(value: 0)
  /// The longest time between two requests of the body.
  private let deadline: Duration
  private let hint: String?

  init(deadline: Duration, hint: String?) {
    self.deadline = deadline
    self.hint = hint
  }

  // MARK: - For the body

  /// Reads from the snapshot, on its thread.
  ///
  /// - Throws: `closed` when the transaction has ended, `deadline` when it was idle for too long; what `body`
  ///   throws.
  func read<R: Sendable>(
    _ body: @escaping @Sendable (borrowing ReadTransaction) throws -> R
  ) async throws -> R {
    try Task.checkCancellation()
    return try await withCheckedThrowingContinuation { continuation in
      post(
        Request { snapshot in
          do { continuation.resume(returning: try body(snapshot)) } catch {
            continuation.resume(throwing: error)
          }
        } refuse: {
          continuation.resume(throwing: $0)
        })
    }
  }

  private func post(_ request: Request) {
    let refusal = state.withLock { state in
      if state.ending == nil { state.requests.append(request) }
      return state.ending
    }
    if let refusal { return request.refuse(refusal) }
    wake.signal()
  }

  /// Releases the snapshot soon; may be called from any thread.
  ///
  /// - Parameter reason: The error for all further requests.
  func end(_ reason: DunlinError) {
    let refused = state.withLock { state in
      state.ending = state.ending ?? reason
      defer { state.requests = [] }
      return state.requests
    }
    for request in refused { request.refuse(reason) }
    wake.signal()
  }

  // MARK: - For the thread

  /// Serves the body's requests on the caller's thread, until the body ends or the deadline expires.
  func serve(_ store: Store) {
    do {
      try store.read { snapshot in
        while let request = next() { request.read(snapshot) }
      }
    } catch {
      end(DunlinError(any: error))
    }
  }

  private func next() -> Request? {
    while true {
      let (request, isOver) = state.withLock { state in
        (state.requests.isEmpty ? nil : state.requests.removeFirst(), state.ending != nil)
      }
      if request != nil || isOver { return request }
      let limit = DispatchTime.now() + deadline.dispatchInterval
      guard wake.wait(timeout: limit) == .timedOut else { continue }
      let name = hint.map { " '\($0.prefix(64))'" } ?? ""
      end(DunlinError(.deadline, "the read transaction\(name) was idle for \(deadline)"))
    }
  }
}

extension Duration {
  /// The same duration in whole milliseconds; `.never` if it is too long for that.
  fileprivate var dispatchInterval: DispatchTimeInterval {
    let milliseconds = components.seconds.multipliedReportingOverflow(by: 1_000)
    guard !milliseconds.overflow, let whole = Int(exactly: milliseconds.partialValue) else { return .never }
    return .milliseconds(whole + Int(components.attoseconds / 1_000_000_000_000_000))
  }
}
