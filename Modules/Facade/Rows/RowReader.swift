import Dispatch
import DocStore
package import QueryEngine
import Synchronization

/// Reads the rows of one query on a thread of its own, for one task that takes them.
///
/// It reads no further ahead than the limits for rows and bytes allow.
package final class RowReader<Element: Sendable>: Sendable {
  /// Makes the element for a row and its number, which counts from 0; `nil` leaves the row out.
  package typealias Make = @Sendable (Row, Int) throws -> Element?

  private enum Added {
    case added(CheckedContinuation<Void, Never>?)
    case full
    case stopped
  }

  private struct State {
    var rows: [Element] = []
    /// The approximate memory of these rows.
    var bytes = 0
    var isOver = false
    /// Why the reading ended before the last row; thrown once.
    var failure: DunlinError?
    /// The task that waits for rows.
    var taker: CheckedContinuation<Void, Never>?
    /// Whether the thread waits for room.
    var isFull = false
  }

  private let state = Mutex(State())
  private let room = DispatchSemaphore(value: 0)
  private let context: StatementContext

  init(_ context: StatementContext) { self.context = context }

  /// Hints about what the author of the statement may have got wrong, a sentence each.
  package var hints: [String] { context.hints }

  // MARK: - For the taker

  /// Waits for rows, and takes all that are available.
  ///
  /// - Returns: The rows; none after the last ones.
  /// - Throws: The error that has ended the reading; `cancelled` when the task is cancelled.
  package func take() async throws(DunlinError) -> [Element] {
    if !Task.isCancelled, state.withLock({ $0.isOver || !$0.rows.isEmpty }) { return try takeNow() }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isThere = state.withLock { state in
          if state.isOver || !state.rows.isEmpty { return true }
          state.taker = continuation
          return false
        }
        if isThere { continuation.resume() }
      }
    } onCancel: {
      stop(DunlinError(.cancelled, "the task was cancelled"))
    }
    return try takeNow()
  }

  private func takeNow() throws(DunlinError) -> [Element] {
    let (rows, failure, wasFull) = state.withLock { state in
      let (rows, wasFull) = (state.rows, state.isFull)
      (state.rows, state.bytes, state.isFull) = ([], 0, false)
      guard rows.isEmpty else { return (rows, DunlinError?.none, wasFull) }
      defer { state.failure = nil }
      return (rows, state.failure, wasFull)
    }
    if wasFull { room.signal() }
    if let failure { throw failure }
    return rows
  }

  /// Ends the reading soon, from any thread; rows that were not taken are dropped.
  ///
  /// - Parameter failure: The error for the task that takes rows, if it still waits for some.
  package func stop(_ failure: DunlinError?) {
    let (taker, wasFull) = state.withLock { state in
      if !state.isOver || !state.rows.isEmpty { state.failure = failure }
      (state.rows, state.bytes, state.isOver) = ([], 0, true)
      defer { (state.taker, state.isFull) = (nil, false) }
      return (state.taker, state.isFull)
    }
    context.cancel()
    if wasFull { room.signal() }
    taker?.resume()
  }

  // MARK: - For the thread

  /// Finds rows, and passes each to a closure that returns whether more are wanted.
  typealias Finder =
    @Sendable (StatementContext, (Row, SnapshotDeadline?) throws -> Bool) throws -> Void

  /// Reads a result of one row at most, before anybody takes it.
  ///
  /// - Parameters:
  ///   - make: Makes the element.
  ///   - find: Passes the row on; returns `false` if it has done nothing.
  /// - Returns: What `find` returns; `true` if it throws, and the error is for the taker.
  func runAtOnce(
    _ make: @escaping Make, _ find: (StatementContext, (Row) throws -> Void) throws -> Bool
  ) -> Bool {
    var (rows, bytes): ([Element], Int) = ([], 0)
    var failure: DunlinError?
    do {
      let isDone = try find(context) { row in
        guard let element = try make(row, 0) else { return }
        rows.append(element)
        bytes = row.memoryBytes
      }
      guard isDone else { return false }
    } catch {
      failure = DunlinError(any: error)
    }
    let found = (rows, bytes, failure)
    state.withLock { ($0.rows, $0.bytes, $0.failure, $0.isOver) = (found.0, found.1, found.2, true) }
    return true
  }

  /// Reads all rows, on the caller's thread.
  func run(_ find: Finder, _ make: @escaping Make) {
    var count = 0
    var failure: DunlinError?
    do {
      try find(context) { row, deadline in
        let element = try make(row, count)
        count += 1
        guard let element else { return true }
        return try add(element, row.memoryBytes, deadline)
      }
    } catch {
      failure = DunlinError(any: error)
    }
    let taker = state.withLock { state in
      if !state.isOver { (state.isOver, state.failure) = (true, failure) }
      defer { state.taker = nil }
      return state.taker
    }
    taker?.resume()
  }

  /// Adds a row once there is room for it.
  ///
  /// - Returns: Whether more rows are wanted.
  /// - Throws: `deadline` for a snapshot that has been kept for too long; `timeout`.
  private func add(_ element: Element, _ bytes: Int, _ deadline: SnapshotDeadline?) throws -> Bool {
    while true {
      switch tryToAdd(element, bytes) {
      case .stopped: return false
      case .added(let taker):
        taker?.resume()
        return true
      case .full:
        _ = room.wait(timeout: .now() + RowReaders.checkInterval)
        try deadline?.check()
        try context.poll()
      }
    }
  }

  private func tryToAdd(_ element: Element, _ bytes: Int) -> Added {
    state.withLock { state in
      guard !state.isOver else { return .stopped }
      let hasRoom = state.rows.count < RowReaders.rows && state.bytes + bytes <= RowReaders.rowBytes
      guard state.rows.isEmpty || hasRoom else {
        state.isFull = true
        return .full
      }
      state.rows.append(element)
      state.bytes += bytes
      defer { state.taker = nil }
      return .added(state.taker)
    }
  }
}
