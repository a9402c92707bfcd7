/// What an evaluation takes from the statement that it belongs to.
///
/// The module reads no clock and knows no store: whoever runs a statement passes these in.
package protocol EvaluationContext: AnyObject, Sendable {
  /// The statement's time, in milliseconds since 1970; `nil` where there is no clock.
  ///
  /// It stays the same until the statement's end.
  var wallClock: Int64? { get }
  /// The offset of a named time zone at a moment; `nil` where no zones are known.
  ///
  /// The offset is in seconds east of Greenwich; the moment is in milliseconds since 1970.
  var zoneOffset: (@Sendable (_ zone: String, _ milliseconds: Int64) -> Int?)? { get }
  /// The name of the application in `request_info`; `nil` where it has no name.
  var appID: String? { get }
  /// Whether an operand of a wrong type is an error, and not MISSING.
  var strictTypes: Bool { get }
  /// The statement's number among those of its store, from 1; 0 where it has none.
  var requestNumber: UInt64 { get }
  /// Likely mistakes in the statement, a sentence each.
  var hints: [String] { get }

  /// Checks whether the statement may go on.
  ///
  /// - Parameter steps: The steps since the last call.
  /// - Throws: `cancelled`, `timeout`, `limit`.
  func poll(steps: Int) throws(QueryError)

  /// Waits until the statement may make a row that takes much memory, where only few may at a time.
  ///
  /// - Throws: `cancelled`, `timeout`.
  func beginLargeRow() throws(QueryError)
}
