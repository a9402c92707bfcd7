import CRDTCore
import DocStore
public import QueryLanguage
import Synchronization

/// A statement of the other peer, to be run on a thread that may block.
///
/// The job delivers its rows in pieces during the scan. It holds its snapshot only that long, however slowly
/// the peer reads the rows.
public final class QueryJob: Sendable {
  /// Bytes of rows in one delivery.
  private static let pieceBytes = 64 << 10

  /// A part of a job's result, or its end.
  public struct Piece: Sendable {
    let number: UInt64
    var bytes: [UInt8] = []
    var end: QueryEnd?
  }

  private enum Course {
    case waiting
    case running(any RemoteQueryRun)
    case cancelled
  }

  let number: UInt64
  let question: QueryQuestion
  private let course = Mutex(Course.waiting)

  init(number: UInt64, question: QueryQuestion) {
    self.number = number
    self.question = question
  }

  /// Cancels the job soon, from any thread.
  func cancel() {
    course.withLock { course in
      if case .running(let run) = course { run.cancel() }
      course = .cancelled
    }
  }

  /// Runs the statement on the caller's thread, for at most the time that the limits of both peers allow.
  ///
  /// A failure is sent to the other peer as the end of the answer. When the session ends, the job ends soon.
  ///
  /// - Parameters:
  ///   - engine: Runs the statement on the session's store.
  ///   - deliver: Passes pieces to `Session.queried`, in order, on the same thread; the last one ends the
  ///     answer.
  public func run(on engine: some RemoteQueryRunner, _ deliver: (Piece) -> Void) {
    let start = engine.remoteQueryTime
    var rows = 0
    var failure: RemoteQueryError?
    do {
      try run(on: engine, rows: &rows, deliver)
    } catch let error as RemoteQueryError {
      failure = error
    } catch let error as QueryError {
      failure = RemoteQueryError(.init(rawValue: error.code.rawValue), error.remoteMessage)
    } catch let error as StoreError where error.code == .deadline {
      failure = RemoteQueryError(
        .timeout, "the statement read for longer than the peer's store lets one read")
    } catch let error as StoreError where error.code == .closed {
      failure = RemoteQueryError(.closed, "the peer's database was closed")
    } catch {
      failure = RemoteQueryError(.storage, "The peer's store failed")
    }
    let time = Duration.nanoseconds(Int64(clamping: engine.remoteQueryTime - start))
    deliver(Piece(number: number, end: QueryEnd(error: failure, rows: rows, time: time)))
  }

  private func run(on engine: some RemoteQueryRunner, rows: inout Int, _ deliver: (Piece) -> Void) throws {
    let statement = try DQL.parse(question.text)
    guard statement.isQuery else {
      throw RemoteQueryError(.unsupported, "only SELECT and EXPLAIN of one are run for another peer")
    }
    guard statement.collectionsRead.allSatisfy({ CollectionName.maySync($0.text) }) else {
      throw RemoteQueryError(.unsupported, "collections of the system are not read for another peer")
    }
    let limits = question.limits
    let run = engine.makeRemoteQueryRun(
      timeout: limits.time, memoryBytes: SyncLimits.remoteQueryMemoryBytes)
    let begins = course.withLock { course in
      guard case .waiting = course else { return false }
      course = .running(run)
      return true
    }
    guard begins else { throw RemoteQueryError(.cancelled, "the statement was cancelled") }
    var out = ByteWriter()
    var (count, bytes) = (0, 0)
    defer { rows = count }
    try run.forEachRow(of: statement, arguments: question.arguments) { id, values in
      let before = out.count
      QueryRow.encode(id, values, to: &out)
      guard count < limits.rows, bytes + out.count - before <= limits.bytes else {
        let what = count < limits.rows ? "\(limits.bytes) bytes" : "\(limits.rows) rows"
        if before > 0 { deliver(Piece(number: number, bytes: Array(out.bytes[..<before]))) }
        throw RemoteQueryError(.limit, "the answer has more than \(what)")
      }
      count += 1
      bytes += out.count - before
      if out.count >= Self.pieceBytes {
        deliver(Piece(number: number, bytes: out.bytes))
        out = ByteWriter()
      }
      return true
    }
    if out.count > 0 { deliver(Piece(number: number, bytes: out.bytes)) }
  }
}

extension QueryError {
  /// The message with its position in the text, which the other peer has.
  fileprivate var remoteMessage: String {
    position.map { "\(message) (line \($0.line), column \($0.column))" } ?? message
  }
}
