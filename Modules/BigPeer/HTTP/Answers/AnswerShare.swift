#if Server
  import Dispatch
  import Facade
  import QueryEngine
  import Synchronization

  /// What one response takes of the memory that all responses share, while its rows are made and sent.
  ///
  /// Bytes count from when they are made until they are handed to the connection, which takes no more while
  /// the client does not read. The thread that makes rows waits for room; a small response needs none. A row
  /// that takes much memory is made by one statement of a key at a time, after the one before it was sent.
  final class AnswerShare: StatementMemory {
    /// The bytes of a response that need no room in the account; sending begins before there are more.
    private static let freeBytes = 64 << 10
    /// The bytes in which room is reserved, and memory for the rows that a statement gathers.
    private static let granuleBytes = 64 << 10
    /// The most statements that make a large row at the same time, of all keys.
    static let makers = 4

    private struct State {
      /// Bytes that are made and not sent.
      var made = 0
      /// Bytes that are reserved for them.
      var reserved = 0
      /// Bytes that the statement gathers, and what is reserved for them.
      var gathered = 0
      var reservedForGathered = 0
      var makesLargeRow = false
    }

    private let ledger: RequestLedger
    private let key: String
    private let rowBytes: Int
    private let state = Mutex(State())
    /// Is signalled each time that bytes were sent.
    private let progress = DispatchSemaphore(value: 0)

    init(_ ledger: RequestLedger, _ key: String, _ limits: HTTPLimits) {
      (self.ledger, self.key, rowBytes) = (ledger, key, limits.rowBytes)
    }

    deinit {
      state.withLock { state in
        ledger.answers.release(state.reserved, for: key)
        ledger.gathered.release(state.reservedForGathered, for: key)
        if state.makesLargeRow { ledger.makers.release(1, for: key) }
      }
    }

    // MARK: - For the thread that makes rows

    /// Makes the bytes of a row, and waits until there is room for them.
    ///
    /// - Parameters:
    ///   - row: The row.
    ///   - statement: Ends the wait when the statement has ended.
    ///   - write: Appends the row as JSON. It stops soon after the limit that it is given, where it can.
    /// - Returns: The bytes.
    /// - Throws: `limit` for a row that is too large; what `write` throws; `cancelled`, `timeout`.
    func bytes(
      of row: Row, _ statement: StatementContext, _ write: (inout [UInt8], _ limit: Int) throws -> Void
    ) throws -> [UInt8] {
      if row.memoryBytes > StatementContext.largeRowBytes { try statement.beginLargeRow() }
      var bytes: [UInt8] = []
      try write(&bytes, rowBytes)
      guard bytes.count <= rowBytes else { throw QueryError.rowTooLarge(rowBytes) }
      try reserve(made: bytes.count, statement)
      endLargeRow()
      return bytes
    }

    private func reserve(made bytes: Int, _ statement: StatementContext) throws(QueryError) {
      state.withLock { $0.made += bytes }
      while true {
        let (missing, isAlone) = state.withLock { state in
          (max(0, Self.needed(state.made) - state.reserved), state.made - bytes < Self.freeBytes)
        }
        guard missing > 0 else { return }
        // Where room is scarce, a response has no more in hand than it is about to send.
        if isAlone || ledger.answers.hasPlenty(for: key) {
          try ledger.answers.reserve(missing, for: key) { () throws(QueryError) in try statement.poll() }
          return state.withLock { $0.reserved += missing }
        }
        _ = progress.wait(timeout: .now() + ByteAccount.checkInterval)
        try statement.poll()
      }
    }

    /// What must be reserved for so many bytes.
    private static func needed(_ bytes: Int) -> Int {
      bytes <= freeBytes ? 0 : (bytes + granuleBytes - 1) / granuleBytes * granuleBytes
    }

    func beginLargeRow(_ poll: () throws(QueryError) -> Void) throws(QueryError) {
      guard !state.withLock({ $0.makesLargeRow }) else { return }
      // The row before is sent first: no values are held while its bytes wait for the client.
      while state.withLock({ $0.made >= Self.freeBytes }) {
        _ = progress.wait(timeout: .now() + ByteAccount.checkInterval)
        try poll()
      }
      try ledger.makers.reserve(1, for: key, polling: poll)
      state.withLock { $0.makesLargeRow = true }
    }

    private func endLargeRow() {
      let madeLargeRow = state.withLock { state in
        defer { state.makesLargeRow = false }
        return state.makesLargeRow
      }
      if madeLargeRow { ledger.makers.release(1, for: key) }
    }

    func reserve(_ bytes: Int) throws(QueryError) {
      let missing = state.withLock { state in
        state.gathered += bytes
        return max(0, Self.needed(state.gathered) - state.reservedForGathered)
      }
      guard missing > 0 else { return }
      guard ledger.gathered.tryToReserve(missing, for: key) else {
        throw QueryError(
          .noMemory, "the statements of all requests need as much memory for their rows as they may")
      }
      state.withLock { $0.reservedForGathered += missing }
    }

    // MARK: - For the task that sends

    /// Records that bytes are handed to the connection.
    func sent(_ bytes: Int) {
      let surplus = state.withLock { state in
        state.made -= bytes
        let surplus = max(0, state.reserved - Self.needed(state.made))
        state.reserved -= surplus
        return surplus
      }
      ledger.answers.release(surplus, for: key)
      progress.signal()
    }
  }

  extension QueryError.Code {
    /// The statements of all requests have as much memory as they may.
    fileprivate static let noMemory = Self(rawValue: "noMemory")
  }

  extension QueryError {
    /// The error of a row or a document that a response cannot have.
    static func rowTooLarge(_ limit: Int) -> QueryError {
      QueryError(
        .limit, "a row of the answer takes more than \(limit) bytes as JSON: ask for some of its fields")
    }
  }
#endif
