import CRDTCore
import QueryEngine

/// The changes of a query's result, for `for await`.
///
/// Each iteration has its own observation and starts with the present result. A slow reader gets the newest
/// result with its exact difference from the last one that it got. The sequence ends when the task is
/// cancelled or the database closes. Leaving the loop ends the observation.
public struct DunlinDiffs: AsyncSequence, Sendable {
  public typealias Failure = Never

  let statement: Statement
  private let arguments: [TextKey: Value]
  private let local: LocalDatabase

  init(_ statement: Statement, _ arguments: [TextKey: Value], _ local: LocalDatabase) {
    self.statement = statement
    self.arguments = arguments
    self.local = local
  }

  public func makeAsyncIterator() -> Iterator {
    // The query was checked before; the only remaining error is a database that was closed.
    Iterator(local.reporter.orReport("changes", nil) { try local.observers.observe(statement, arguments) })
  }

  public struct Iterator: AsyncIteratorProtocol {
    /// Ends the observation when the iterator is released.
    private final class Ending {
      let observation: QueryObservation
      init(_ observation: QueryObservation) { self.observation = observation }
      deinit { observation.cancel() }
    }

    private let ending: Ending?

    fileprivate init(_ observation: QueryObservation?) { ending = observation.map(Ending.init) }

    public mutating func next() async -> DunlinDiff? { await ending?.observation.next()?.diff }
  }
}
