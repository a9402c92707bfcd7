import Links
import NIOConcurrencyHelpers
package import SyncProtocol

/// Another peer's answer to a statement, row by row; for one reader.
///
/// If the reader releases it, or stops, the statement is ended at the other peer.
package final class RemoteRows: Sendable {
  private let buffer: RemoteRowsBuffer

  init(_ buffer: RemoteRowsBuffer) { self.buffer = buffer }

  deinit { buffer.stop() }

  /// Waits for the next row; `nil` after the last one.
  ///
  /// - Throws: Why the answer is incomplete; `cancelled` when the task is cancelled.
  package func next() async throws(RemoteQueryError) -> QueryRow? {
    while true {
      switch buffer.take() {
      case .row(let row): return row
      case .ended(let error?): throw error
      case .ended(nil): return nil
      case .nothingYet:
        await buffer.arrival.wait()
        if Task.isCancelled {
          buffer.stop()
          throw RemoteQueryError(.cancelled, "the task was cancelled")
        }
      }
    }
  }
}

/// The received and untaken part of an answer; a grant limits what the other peer may send ahead.
final class RemoteRowsBuffer: Sendable {
  enum Taken {
    case row(QueryRow)
    case ended(RemoteQueryError?)
    case nothingYet
  }

  private struct State {
    var rows: [QueryRow] = []
    var head = 0
    var waitingBytes: UInt64 = 0
    var received: UInt64 = 0
    var granted: UInt64 = 0
    var end: QueryEnd?
    var isStopped = false

    /// The next grant to send; `nil` unless it is worth a frame or the other peer may be waiting for it.
    mutating func grant() -> UInt64? {
      let taken = received - waitingBytes
      guard end == nil, !isStopped, taken > granted,
        taken - granted >= RemoteRowsBuffer.grantBytes || waitingBytes == 0
      else { return nil }
      granted = taken
      return taken
    }
  }

  /// The smallest grant that is worth a frame, in bytes; on a slow link a peer sends less ahead.
  private static let grantBytes: UInt64 = 4 << 10

  let arrival = Latch()
  private let state = NIOLockedValueBox(State())
  private let onTaken: @Sendable (_ through: UInt64) -> Void
  private let onStop: @Sendable () -> Void

  /// Makes a buffer that reports how many bytes have been taken, and when no more are wanted.
  init(onTaken: @escaping @Sendable (_ through: UInt64) -> Void, onStop: @escaping @Sendable () -> Void) {
    self.onTaken = onTaken
    self.onStop = onStop
  }

  func add(_ rows: [QueryRow], received: UInt64) {
    let granted = state.withLockedValue { state in
      state.rows += rows
      state.waitingBytes += rows.reduce(0) { $0 + UInt64($1.byteCount) }
      state.received = received
      return state.grant()
    }
    if let granted { onTaken(granted) }
    if !rows.isEmpty { arrival.signal() }
  }

  func finish(_ end: QueryEnd) {
    state.withLockedValue { if $0.end == nil { $0.end = end } }
    arrival.signal()
  }

  func take() -> Taken {
    let (taken, granted) = state.withLockedValue { state -> (Taken, UInt64?) in
      guard state.head < state.rows.count else {
        return (state.end.map { .ended($0.error) } ?? .nothingYet, nil)
      }
      let row = state.rows[state.head]
      state.head += 1
      if state.head == state.rows.count {
        state.rows = []
        state.head = 0
      }
      state.waitingBytes -= UInt64(row.byteCount)
      return (.row(row), state.grant())
    }
    if let granted { onTaken(granted) }
    return taken
  }

  func stop() {
    let isFirst = state.withLockedValue { state in
      defer { state.isStopped = true }
      return !state.isStopped && state.end == nil
    }
    if isFirst { onStop() }
  }
}
