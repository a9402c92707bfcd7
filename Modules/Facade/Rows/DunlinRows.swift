import CRDTCore
import QueryEngine

/// The rows of a query one by one, for `for try await`: read as they are taken, from one snapshot, in flat memory.
///
/// Each iteration runs the query anew, on a snapshot that it takes when its first row is asked for: what is written later
/// is not in it. A thread of the database reads ahead by at most 256 rows, or about 256 KiB, and the loop has as many
/// again; then it waits. A query that has to gather its rows (a join, a group, DISTINCT, an order) does so first, within
/// the memory that a statement may take, and hands them out then.
///
/// A snapshot keeps the space of what is written meanwhile from being used again. Once it is older than
/// `DunlinConfiguration.snapshotDeadline` and somebody writes, the loop ends with `deadline`: who needs longer than
/// that for all rows of a database that others write to takes them in parts. Leaving the loop ends the reading.
public struct DunlinRows<Element: Sendable>: AsyncSequence, Sendable {
  public typealias Failure = DunlinError

  private let core: Core
  private let prepared: PreparedStatement
  private let arguments: Arguments
  private let make: RowReader<Element>.Make

  init(
    _ core: Core, _ query: String, _ arguments: Arguments, _ make: @escaping RowReader<Element>.Make
  ) throws {
    self.core = core
    self.arguments = arguments
    self.make = make
    prepared = try translatingErrors { try core.engine.prepare(query) }
    guard prepared.statement.isQuery else {
      throw DunlinError(.unsupported, "only the rows of a SELECT are read one by one")
    }
  }

  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(rows: self) }

  fileprivate func begin() throws(DunlinError) -> RowReader<Element> {
    try core.rowReaders.begin(prepared, arguments, on: core.engine, make)
  }

  /// Takes the rows one by one.
  public struct AsyncIterator: AsyncIteratorProtocol {
    public typealias Failure = DunlinError

    /// Ends the reading when the iterator is let go of.
    private final class Ending: Sendable {
      let reader: RowReader<Element>
      init(_ reader: RowReader<Element>) { self.reader = reader }
      deinit { reader.stop(nil) }
    }

    private enum Course {
      case waiting(DunlinRows)
      case reading(Ending)
      case over
    }

    private var course: Course
    private var batch: ArraySlice<Element> = []

    fileprivate init(rows: DunlinRows) { course = .waiting(rows) }

    /// Waits for the next row; `nil` behind the last one.
    ///
    /// - Throws: `argument` and the other codes of queries; `decoding` with the row, counted from 0, and the path that
    ///   does not fit; `deadline` when the snapshot has been read for too long; `limit` when 64 results are read at
    ///   once; `cancelled` when the task is; `timeout`, `noMemory`, `io`, `corrupt`, `closed`. No rows follow.
    public mutating func next() async throws(DunlinError) -> Element? {
      do throws(DunlinError) {
        guard !Task.isCancelled else { throw DunlinError(.cancelled, "the task was cancelled") }
        if batch.isEmpty { batch = try await more()[...] }
        if let row = batch.popFirst() { return row }
        course = .over
        return nil
      } catch {
        (course, batch) = (.over, [])
        throw error
      }
    }

    private mutating func more() async throws(DunlinError) -> [Element] {
      switch course {
      case .over: return []
      case .reading(let ending): return try await ending.reader.take()
      case .waiting(let rows):
        let ending = Ending(try rows.begin())
        course = .reading(ending)
        return try await ending.reader.take()
      }
    }
  }
}
