import CRDTCore

/// Where statements run: in a store that this process has open, or at the peer that has.
protocol StatementSource: AnyObject, Sendable {
  /// Runs a statement to its end.
  ///
  /// - Throws: What the statement fails with; what `take` throws.
  func run(
    _ text: String, _ arguments: [TextKey: Value], _ take: (StatementEvent) throws -> Void
  ) throws -> StatementOutcome

  /// Hands out the first rows of a query now and whenever they may have changed, until it is cancelled.
  ///
  /// - Throws: As `run`; nothing when it is cancelled.
  func watch(
    _ text: String, _ arguments: [TextKey: Value], limit: Int, _ take: (StatementEvent) throws -> Void
  ) throws

  /// Ends the statement that runs, from any thread.
  func cancel()

  /// The peer that runs the statements, where that is not the peer or the store of this source.
  var remotePeer: String? { get }

  /// What `StoreReport` says of the collections.
  func collections() throws -> [TextKey: Value]

  /// What `StoreReport` says of the fields.
  func schema(of collection: String?, documents: Int) throws -> [TextKey: Value]
}

extension StatementSource {
  var remotePeer: String? { nil }
}

/// A part of what a statement answers.
enum StatementEvent {
  /// The columns of the rows that follow, in the order of the statement, where it has one.
  case columns([TextKey]?)
  case row([TextKey: Value])
  /// The rows since the last columns are the first of so many that there are now.
  case state(rows: Int)
}

/// How a statement went.
struct StatementOutcome {
  var rows = 0
  var changed = 0
  var hints: [String] = []
}
