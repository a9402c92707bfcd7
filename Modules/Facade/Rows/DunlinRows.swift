import CRDTCore
import QueryEngine

/// The rows of a query one by one, for `for try await`, read from one snapshot in constant memory.
///
/// Each iteration runs the query again, on a snapshot that it takes when its first row is read. Later writes
/// are not in it. A thread of the database reads ahead by at most 256 rows, or about 256 KiB. The loop holds
/// as many again. Then the thread waits. A join, a group, DISTINCT or an order needs all rows first. Such a
/// query gathers them within the memory limit of a statement, and then returns them.
///
/// A snapshot prevents the reuse of space that later writes free. If the snapshot is older than
/// `DunlinConfiguration.snapshotDeadline` and there are writes, the loop ends with `deadline`. If a loop
/// needs longer and others write to the database, it must read the rows in parts. Leaving the loop ends the
/// reading.
public struct DunlinRows<Element: Sendable>: AsyncSequence, Sendable {
  public typealias Failure = DunlinError

  private let local: LocalDatabase
  let prepared: PreparedStatement
  private let arguments: Arguments
  private let make: RowReader<Element>.Make

  init(
    _ local: LocalDatabase, _ query: String, _ arguments: Arguments, _ make: @escaping RowReader<Element>.Make
  ) throws {
    self.local = local
    self.arguments = arguments
    self.make = make
    prepared = try translatingErrors { try local.engine.prepare(query) }
    guard prepared.statement.isQuery else {
      throw DunlinError(.unsupported, "only the rows of a SELECT are read one by one")
    }
  }

  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(rows: self) }

  fileprivate func begin() throws(DunlinError) -> RowReader<Element> {
    try local.rowReaders.begin(prepared, arguments, make)
  }

  /// Takes the rows one by one.
  public struct AsyncIterator: AsyncIteratorProtocol {
    public typealias Failure = DunlinError

    /// Ends the reading when the iterator is released.
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

    /// Waits for the next row; `nil` after the last one.
    ///
    /// - Throws: `argument` and the other codes of queries; `decoding` with the row, counted from 0, and the
    ///   path of the value that does not fit; `deadline` when the snapshot has been read for too long;
    ///   `limit` when 64 results are being read already; `cancelled` when the task is cancelled; `timeout`,
    ///   `noMemory`, `io`, `corrupt`, `closed`. No rows follow.
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
