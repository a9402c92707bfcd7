package import CRDTCore
public import SyncProtocol
import Transports

/// The limits of a statement that another peer runs; that peer has limits too, and the lower ones apply.
public typealias DunlinRemoteQueryLimits = RemoteQueryLimits

/// A statement that another peer runs, and its rows as they arrive.
///
/// Each iteration runs the statement again. Rows arrive as fast as the caller takes them. Leaving the loop
/// ends the statement at the peer.
public struct DunlinRemoteQuery: AsyncSequence, Sendable {
  public typealias Element = DunlinQueryResultItem

  let sync: PeerSync
  let peer: String
  let question: QueryQuestion

  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(query: self) }

  /// Returns the rows one by one.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let query: DunlinRemoteQuery
    private var rows: RemoteRows?
    private var isOver = false

    init(query: DunlinRemoteQuery) { self.query = query }

    /// Waits for the next row; `nil` after the last one.
    ///
    /// - Throws: `unreachable` when the peer is not connected, `closed` when the connection is lost; `denied`
    ///   when the peer answers no queries; `unsupported`, `syntax`, `argument` and the other codes of
    ///   queries; `limit` and `timeout` after the rows that arrived before; `cancelled`.
    public mutating func next() async throws -> DunlinQueryResultItem? {
      guard !isOver else { return nil }
      do {
        if rows == nil { rows = try query.begin() }
        guard let row = try await rows?.next() else {
          isOver = true
          return nil
        }
        return DunlinQueryResultItem(row, .statement(query.question.text))
      } catch {
        isOver = true
        throw DunlinError.translating(error)
      }
    }
  }

  private func begin() throws -> RemoteRows {
    guard sync.isOpen else { throw DunlinError(.closed, "the database is closed") }
    guard let rows = sync.network.ask(question, of: peer) else {
      throw DunlinError(.unreachable, "the peer is not connected", context: ["peer": peer])
    }
    return rows
  }
}

extension DunlinSync {
  /// Has another peer run a SELECT on its own data, without a copy of the data here.
  ///
  /// - Parameters:
  ///   - query: SELECT, or EXPLAIN of one; it may join, group and sort. System collections are refused.
  ///   - peer: A connected peer, from the presence graph.
  ///   - arguments: The values of its parameters.
  ///   - limits: How long the statement may run and how large its result may be.
  /// - Returns: The rows, as they arrive; the query is sent when the first row is requested.
  /// - Throws: `unsupportedValue`, `limit` for a query that cannot be sent.
  public func query(
    _ query: String, on peer: DunlinPeer, arguments: [String: Any?] = [:],
    limits: DunlinRemoteQueryLimits = DunlinRemoteQueryLimits()
  ) throws -> DunlinRemoteQuery {
    try ask(query, peer, Value.fields(arguments), limits)
  }

  /// Has another peer run a SELECT, with the fields that a value encodes as arguments.
  ///
  /// - Throws: The same as the form for dictionaries, and what the value's own encoding throws.
  @_disfavoredOverload
  public func query(
    _ query: String, on peer: DunlinPeer, arguments: some Encodable,
    limits: DunlinRemoteQueryLimits = DunlinRemoteQueryLimits()
  ) throws -> DunlinRemoteQuery {
    try ask(query, peer, ValueEncoding.arguments(arguments), limits)
  }

  /// Has another peer run a SELECT, for the project's own tools.
  ///
  /// - Throws: The same as the form for dictionaries.
  package func ask(
    _ query: String, _ peer: DunlinPeer, _ arguments: [TextKey: Value], _ limits: DunlinRemoteQueryLimits
  ) throws -> DunlinRemoteQuery {
    try translatingErrors {
      let question = try QueryQuestion(query, arguments: arguments, limits: limits)
      return DunlinRemoteQuery(sync: sync, peer: peer.id, question: question)
    }
  }
}

extension DunlinQueryResultItem {
  init(_ row: QueryRow, _ origin: RowOrigin) {
    documentID = row.id
    fields = row.values
    self.origin = origin
  }
}
