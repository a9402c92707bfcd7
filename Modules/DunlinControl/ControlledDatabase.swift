public import CRDTCore
public import DocStore
public import Logging
public import QueryEngine

/// An open database, as far as the control socket needs it.
///
/// The socket holds it only while a client is connected.
public protocol ControlledDatabase: AnyObject, Sendable {
  /// The release of the library, which each client is greeted with.
  var release: String { get }
  /// Whether the database is open.
  var isOpen: Bool { get }
  /// The documents.
  var store: Store { get }
  /// Executes statements on the store.
  var engine: Engine { get }
  /// Gets the log lines of the socket.
  var logger: Logger { get }

  /// Begins to read the rows of a query, only as fast as the caller takes them.
  ///
  /// - Throws: What is wrong with the query; `limit` when too many results are being read.
  func readRows(
    of prepared: PreparedStatement, arguments: [TextKey: Value]
  ) throws -> any ControlledRows

  /// Observes the result of a query.
  ///
  /// - Throws: What is wrong with the query; `closed`.
  func observeRows(
    of statement: Statement, arguments: [TextKey: Value]
  ) throws -> any ControlledObservation

  /// Runs work that blocks its thread, away from the threads of tasks.
  ///
  /// - Parameter body: Gets a closure that throws once the task is cancelled.
  /// - Returns: What `body` returns.
  /// - Throws: What `body` throws.
  func runBlocking(
    _ body: @escaping @Sendable (_ check: () throws -> Void) throws -> [TextKey: Value]
  ) async throws -> [TextKey: Value]

  /// Reads the whole database, and reports all damage.
  ///
  /// - Throws: `closed`, `io`; `CancellationError`.
  func verify(
    progress: @escaping @Sendable (MaintenanceProgress) -> Void
  ) async throws -> VerificationReport

  /// Copies the database into a new directory.
  ///
  /// - Throws: `exists`, `full`, `permission`, `io`, `closed`; `CancellationError`.
  func backup(
    to path: String, progress: @escaping @Sendable (MaintenanceProgress) -> Void
  ) async throws

  /// The names of small files in the store's directory that each backup keeps along; none by default.
  var carriedFiles: [String] { get }

  /// What the peer knows of itself and of its connections.
  var peerReport: PeerReport { get }

  /// Explains why a document is or is not at another peer, or has not arrived from there.
  ///
  /// - Parameters:
  ///   - id: The document.
  ///   - collection: Its collection.
  ///   - peerID: A peer of ``peerReport``.
  ///   - isIncoming: Whether the document should come from the peer.
  /// - Returns: The explanation; `nil` when the peer is no longer present.
  /// - Throws: `invalidDocumentID`, `corrupt`, `io`, `closed`.
  func explain(
    _ id: DocumentID, in collection: String, peerID: String, isIncoming: Bool
  ) throws -> (text: String, isThere: Bool)?

  /// Has another peer run a SELECT on its own data.
  ///
  /// - Parameters:
  ///   - query: The statement.
  ///   - arguments: The values of its parameters.
  ///   - peerID: A peer of ``peerReport``.
  ///   - take: Takes rows as they arrive, some at a time.
  /// - Returns: `false` when the peer is no longer present.
  /// - Throws: What is wrong with the query; `denied` when the peer answers no queries; `limit`, `timeout`,
  ///   `unreachable`, `closed`, `cancelled`; what `take` throws.
  func ask(
    _ query: String, arguments: [TextKey: Value], peerID: String,
    take: @Sendable ([[TextKey: Value]]) async throws -> Void
  ) async throws -> Bool

  /// The error that a client gets for an error of any kind.
  func controlError(for error: any Error) -> ControlError
}

extension ControlledDatabase {
  public var carriedFiles: [String] { [] }

  /// Refuses: a database that has no remote queries.
  ///
  /// - Throws: `argument`.
  public func ask(
    _ query: String, arguments: [TextKey: Value], peerID: String,
    take: @Sendable ([[TextKey: Value]]) async throws -> Void
  ) async throws -> Bool {
    throw ControlError(.argument, "this database asks no other peers")
  }
}

/// The rows of a query that is being read.
public protocol ControlledRows: Sendable {
  /// Hints about what the author of the statement may have got wrong, a sentence each.
  var hints: [String] { get }

  /// Waits for rows, and takes all that are available; none after the last ones.
  ///
  /// - Throws: The error that has ended the reading; `cancelled`.
  func takeRows() async throws -> [[TextKey: Value]]

  /// Ends the reading.
  func stop()
}

/// A query that is being observed.
public protocol ControlledObservation: Sendable {
  /// Waits for the first result, then for each change; `nil` when the observation is over.
  func nextRows() async -> RowList<Row>?

  /// Ends the observation.
  func end()
}
