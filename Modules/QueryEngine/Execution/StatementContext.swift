import CRDTCore
import Synchronization

/// The bounds of a running statement: its time, its steps, its memory, and whether it was cancelled.
///
/// Each run of a statement has its own context. Every operator that visits many rows polls it, so that the
/// statement ends soon after it should: before its first write, or not at all.
public final class StatementContext: Sendable {
  private let deadline: (at: UInt64, now: @Sendable () -> UInt64)?
  private let timeout: Duration
  private let readWallClock: (@Sendable () -> Int64)?
  private let firstWallClock = Atomic(Int64.min)
  package let zoneOffset: (@Sendable (_ zone: String, _ milliseconds: Int64) -> Int?)?
  package let appID: String?
  /// Whether an operand of a wrong type is an error, and not MISSING.
  package let strictTypes: Bool
  private let request = Atomic<UInt64>(0)
  private let profiling = Mutex<StatementProfile?>(nil)
  private let noted = Mutex<[StatementHint]>([])
  /// The collections that hints may name; `nil` means all.
  private let visibleNames = Mutex<(@Sendable (String) -> Bool)?>(nil)
  private let isCancelled = Atomic(false)
  private let isAlone = Atomic(false)
  private let remainingSteps: Atomic<Int>
  private let remainingBytes: Atomic<Int>
  /// Whether the rows of the result, and what a write gathers, count too.
  private let boundsRows: Bool
  private let sharedMemory = Mutex<(any StatementMemory)?>(nil)
  /// Whether there is shared memory: most statements have none, and ask for each row.
  private let sharesMemory = Atomic(false)

  /// A context with bounds.
  ///
  /// - Parameters:
  ///   - environment: The source of the time.
  ///   - timeout: The time from now on; `nil` for no bound.
  ///   - steps: The most rows that the statement may visit, in steps of 256.
  ///   - memoryBytes: About how much memory it may use to sort, group, join and compare rows.
  ///   - boundsRows: Whether the rows that are gathered for the caller count as part of that memory.
  ///   - strictTypes: Whether an operand of a wrong type is an error.
  public init(
    _ environment: EngineEnvironment, timeout: Duration? = nil, steps: Int = .max,
    memoryBytes: Int = StatementContext.defaultMemoryBytes, boundsRows: Bool = false,
    strictTypes: Bool = false
  ) {
    self.timeout = timeout ?? .zero
    readWallClock = environment.wallClock
    zoneOffset = environment.zoneOffset
    appID = environment.appID
    self.strictTypes = strictTypes
    self.boundsRows = boundsRows
    deadline = timeout.map { (environment.now().saturatingAdding($0.wholeNanoseconds), environment.now) }
    remainingSteps = Atomic(steps)
    remainingBytes = Atomic(memoryBytes)
  }

  /// A context without bounds, which can only be cancelled.
  public init() {
    timeout = .zero
    readWallClock = nil
    zoneOffset = nil
    appID = nil
    strictTypes = false
    boundsRows = false
    deadline = nil
    remainingSteps = Atomic(.max)
    remainingBytes = Atomic(Self.defaultMemoryBytes)
  }

  /// The statement's time, in milliseconds since 1970.
  ///
  /// It is read when the statement first needs it, and stays the same until its end. It is `nil` where there
  /// is no clock.
  package var wallClock: Int64? {
    let known = firstWallClock.load(ordering: .relaxed)
    guard known == .min, let readWallClock else { return known == .min ? nil : known }
    let now = readWallClock()
    let (isFirst, first) = firstWallClock.compareExchange(expected: .min, desired: now, ordering: .relaxed)
    return isFirst ? now : first
  }

  /// The memory that a statement may use by default: 512 MiB.
  public static let defaultMemoryBytes = 512 << 20

  /// The statement's number among those of its store, from 1; 0 where it has none.
  package var requestNumber: UInt64 { request.load(ordering: .relaxed) }

  /// The context itself, for the statement with this number.
  func numbered(_ number: UInt64) -> StatementContext {
    request.store(number, ordering: .relaxed)
    return self
  }

  /// The most hints that one statement may give.
  static let hintLimit = 16

  /// Likely mistakes in the statement, a sentence each.
  package var hints: [String] {
    let mayName = visibleNames.withLock { $0 }
    return noted.withLock { $0.map { $0.message(naming: mayName) } }
  }

  /// Restricts the collections that hints may name besides those of the statement.
  ///
  /// - Parameter mayName: Whether whoever reads the hints may know of a collection with documents.
  package func restrictHints(to mayName: @escaping @Sendable (String) -> Bool) {
    visibleNames.withLock { $0 = mayName }
  }

  /// Records likely mistakes, each once.
  func note(_ hints: [StatementHint]) {
    noted.withLock { noted in
      for hint in hints where noted.count < Self.hintLimit && !noted.contains(hint) { noted.append(hint) }
    }
  }

  /// The profile to which operators report; `nil` for statements that are not profiled.
  var profile: StatementProfile? { profiling.withLock { $0 } }

  func startProfile(_ profile: StatementProfile) { profiling.withLock { $0 = profile } }

  /// Marks the statement as alone in its transaction, which is dropped when it throws.
  ///
  /// Such a statement may also end while it writes.
  package func isAloneInTransaction() { isAlone.store(true, ordering: .relaxed) }

  /// Checks whether a statement that has begun to write may go on.
  ///
  /// A statement that shares its transaction always may.
  ///
  /// - Throws: As ``poll(steps:)``.
  func pollWriting() throws(QueryError) { if isAlone.load(ordering: .relaxed) { try poll() } }

  /// Ends the statement soon, from any thread.
  ///
  /// A statement that has begun to write goes on, unless it is alone in its transaction.
  public func cancel() { isCancelled.store(true, ordering: .relaxed) }

  /// Checks whether the statement may go on.
  ///
  /// - Parameter steps: The rows that were visited since the last call.
  /// - Throws: `cancelled`, `timeout`, `limit`.
  package func poll(steps: Int = 0) throws(QueryError) {
    guard !isCancelled.load(ordering: .relaxed) else {
      throw QueryError(.cancelled, "the statement was cancelled")
    }
    if let deadline, deadline.now() >= deadline.at {
      throw QueryError(.timeout, "the statement took longer than its time-out of \(timeout.text)")
    }
    // Only the thread that runs the statement counts, so no update between the load and the store is lost.
    let remaining = remainingSteps.load(ordering: .relaxed)
    guard steps <= remaining else {
      throw QueryError(.limit, "the statement visits more rows than it may")
    }
    if steps > 0, remaining != .max { remainingSteps.store(remaining - steps, ordering: .relaxed) }
  }
}

extension StatementContext {
  /// Bounds the memory of this statement together with that of others.
  package func share(_ memory: any StatementMemory) {
    sharedMemory.withLock { $0 = memory }
    sharesMemory.store(true, ordering: .releasing)
  }

  private var memory: (any StatementMemory)? {
    sharesMemory.load(ordering: .acquiring) ? sharedMemory.withLock { $0 } : nil
  }

  /// Waits until the statement may make a row that takes much memory, where only few may at a time.
  ///
  /// - Throws: `cancelled`, `timeout`.
  package func beginLargeRow() throws(QueryError) {
    guard let memory else { return }
    try memory.beginLargeRow { () throws(QueryError) in try self.poll() }
  }

  /// The bytes from which on a row is a large one.
  package static let largeRowBytes = 64 << 10

  /// Reserves memory that the statement keeps until its end.
  ///
  /// - Throws: `limit` when it is more than the statement may have.
  func reserve(_ bytes: Int) throws(QueryError) {
    let remaining = remainingBytes.load(ordering: .relaxed)
    guard bytes <= remaining else {
      throw QueryError(
        .limit, "the statement needs more memory than it may to keep, sort, group or join its rows")
    }
    try memory?.reserve(bytes)
    remainingBytes.store(remaining - bytes, ordering: .relaxed)
  }

  /// Reserves memory for rows that must be gathered, if the context bounds these.
  ///
  /// The application's own statements may gather all rows.
  ///
  /// - Throws: `limit` when it is more than the statement may have.
  func reserveGathered(_ bytes: @autoclosure () -> Int) throws(QueryError) {
    if boundsRows { try reserve(bytes()) }
  }
}

/// Counts the rows of a scan and polls the statement's context once per 256 rows.
struct ScanPace {
  private static let rows = 256
  private let context: StatementContext
  private var sinceLast = 0

  /// Polls immediately, so that a statement that has ended visits no rows.
  init(_ context: StatementContext) throws(QueryError) {
    self.context = context
    try context.poll()
  }

  /// Counts a row.
  mutating func step() throws(QueryError) {
    sinceLast += 1
    if sinceLast == Self.rows {
      sinceLast = 0
      try context.poll(steps: Self.rows)
    }
  }
}

extension Duration {
  /// The duration in whole nanoseconds; zero for a negative one.
  fileprivate var wholeNanoseconds: UInt64 {
    let (seconds, attoseconds) = components
    guard seconds >= 0, attoseconds >= 0 else { return 0 }
    let (whole, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
    return overflow ? .max : whole.saturatingAdding(UInt64(attoseconds) / 1_000_000_000)
  }
}

extension UInt64 {
  fileprivate func saturatingAdding(_ other: UInt64) -> UInt64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? .max : sum
  }
}
