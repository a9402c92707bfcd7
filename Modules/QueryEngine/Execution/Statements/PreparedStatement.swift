import Synchronization

/// A parsed statement, which any thread may execute any number of times with other arguments.
///
/// It remembers the plan of its last run. It makes another one when indexes, collections or the number of
/// their documents have changed, so it never has to be prepared again.
public final class PreparedStatement: Sendable {
  public let text: String
  package let parsed: ParsedStatement
  /// The program of a SELECT; `nil` for other statements, which are planned as they are executed.
  let program: SelectProgram?
  let uses = Atomic(0)

  /// Parses a statement.
  ///
  /// - Throws: What `DQL.parse` throws.
  init(_ text: String) throws(QueryError) {
    self.text = text
    parsed = try DQL.parseLocated(text)
    if case .select(let select) = parsed.statement { program = SelectProgram(select) } else { program = nil }
  }

  public var statement: Statement { parsed.statement }

  /// The number of times that it was planned.
  package var planCount: Int { program?.planCount.load(ordering: .relaxed) ?? 0 }

  /// The error with its position in the text, where it has one.
  func locating(_ error: any Error) -> any Error {
    (error as? QueryError).map(parsed.sourceMap.locating) ?? error
  }
}
