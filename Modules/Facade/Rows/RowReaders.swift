package import CRDTCore
import Dispatch
import DocStore
package import QueryEngine
import Synchronization

package typealias Arguments = [TextKey: Value]

/// The threads of one database that each read from a snapshot.
///
/// They serve loops over rows, and statements that are awaited.
package final class RowReaders: Sendable {
  /// The greatest number of results and awaiting read-only transactions that are read at the same time.
  ///
  /// Each has a thread and a snapshot.
  static let limit = 64
  /// The greatest number of rows that are read ahead, and their approximate bytes.
  ///
  /// The task that takes rows holds as many again.
  static let rows = 256
  static let rowBytes = 256 << 10
  /// How often a thread that waits for room checks whether its snapshot is too old.
  static let checkInterval = DispatchTimeInterval.milliseconds(250)
  /// How long closing the database waits until the threads have released their snapshots.
  private static let closingTime = DispatchTimeInterval.seconds(1)

  private struct State {
    var stops: [UInt64: @Sendable (DunlinError) -> Void] = [:]
    var lastID: UInt64 = 0
    var isClosed = false
  }

  private let engine: Engine
  private let state = Mutex(State())
  private let running = DispatchGroup()

  init(engine: Engine) { self.engine = engine }

  /// Begins to read a query, only as fast as the caller takes its rows.
  ///
  /// - Parameters:
  ///   - prepared: A statement that changes nothing.
  ///   - arguments: The values of its parameters.
  ///   - context: Limits how long the statement may run; `nil` for the limits of the engine.
  ///   - readsAtOnce: Whether a query for one document by its id is done when this returns, on the caller's
  ///     thread: another thread would take longer to begin than such a query takes.
  ///   - make: Turns a row into the element that is returned; it runs on the thread of the reader.
  /// - Returns: The rows. A caller that wants no more of them must stop the reader.
  /// - Throws: `limit` when too many are being read; `noMemory` when the system gives no thread; `closed`.
  package func begin<Element>(
    _ prepared: PreparedStatement, _ arguments: Arguments, within context: StatementContext? = nil,
    readsAtOnce: Bool = false, _ make: @escaping RowReader<Element>.Make
  ) throws(DunlinError) -> RowReader<Element> {
    let context = context ?? engine.makeContext()
    if readsAtOnce {
      let reader = RowReader<Element>(context)
      let isDone = reader.runAtOnce(make) { [engine] context, body in
        try engine.forOnlyRow(of: prepared, arguments: arguments, context: context, body)
      }
      if isDone { return reader }
    }
    return try begin(within: context, make) { [engine] context, body in
      try engine.forEachRow(of: prepared, arguments: arguments, context: context, body)
    }
  }

  /// Begins to read a query that has no text, in the same way.
  ///
  /// - Throws: As the form for a statement.
  package func begin<Element>(
    _ select: Select, _ arguments: Arguments, within context: StatementContext,
    _ make: @escaping RowReader<Element>.Make
  ) throws(DunlinError) -> RowReader<Element> {
    try begin(within: context, make) { [engine] context, body in
      try engine.store.read { transaction in
        let deadline = transaction.deadline
        try engine.forEachRow(
          of: .select(select), arguments: arguments, in: transaction, context: context
        ) { try body($0, deadline) }
      }
    }
  }

  /// Starts to read the rows that `find` finds.
  ///
  /// - Throws: As the form for a query.
  func begin<Element>(
    within context: StatementContext, _ make: @escaping RowReader<Element>.Make,
    _ find: @escaping RowReader<Element>.Finder
  ) throws(DunlinError) -> RowReader<Element> {
    let reader = RowReader<Element>(context)
    try run(stop: { reader.stop($0) }) { reader.run(find, make) }
    return reader
  }

  /// Runs `body`, which reads from a snapshot, on a thread of its own.
  ///
  /// - Parameters:
  ///   - stop: Ends `body` soon, from any thread.
  ///   - body: What to run.
  /// - Throws: `limit` when too many are running; `noMemory` when the system gives no thread; `closed`.
  func run(
    stop: @escaping @Sendable (DunlinError) -> Void, _ body: @escaping @Sendable () -> Void
  ) throws(DunlinError) {
    let id = try register(stop)
    do {
      try engine.store.runOnThread { [self] in
        body()
        leave(id)
      }
    } catch {
      leave(id)
      throw DunlinError(error)
    }
  }

  private func register(_ stop: @escaping @Sendable (DunlinError) -> Void) throws(DunlinError) -> UInt64 {
    try state.withLock { state throws(DunlinError) in
      guard !state.isClosed else { throw DunlinError(.closed, "the database is closed") }
      guard state.stops.count < Self.limit else {
        throw DunlinError(.limit, "\(Self.limit) results and read-only transactions are being read already")
      }
      state.lastID += 1
      state.stops[state.lastID] = stop
      running.enter()
      return state.lastID
    }
  }

  private func leave(_ id: UInt64) {
    _ = state.withLock { $0.stops.removeValue(forKey: id) }
    running.leave()
  }

  /// Ends all threads with `closed`, and waits briefly for their snapshots to end.
  func close() {
    let stops = state.withLock { state in
      state.isClosed = true
      return Array(state.stops.values)
    }
    for stop in stops { stop(DunlinError(.closed, "the database is closed")) }
    if !stops.isEmpty { _ = running.wait(timeout: .now() + Self.closingTime) }
  }
}
