import CRDTCore
import DunlinControl
import Facade
import Foundation
import QueryEngine

/// Runs statements and prints each row as it is found, so that a result of any size takes little memory.
final class StatementRunner {
  enum Format: String {
    case json, table, csv
  }

  var format: Format
  /// Whether the time of each statement is told.
  var tellsTime = true
  let source: any StatementSource
  private let arguments: [TextKey: Value]

  /// Prepares a store for statements.
  ///
  /// - Parameters:
  ///   - access: Whose statements run.
  ///   - remotePeer: The name or the id of a peer, connected to the one of `access`, that runs them instead.
  ///   - arguments: The values of their parameters.
  ///   - format: How rows are written; `nil` is a table on a terminal, and JSON elsewhere.
  init(
    _ access: StoreAccess, at remotePeer: String? = nil, _ arguments: [TextKey: Value], format: Format?
  ) {
    self.arguments = arguments
    self.format = format ?? (isatty(STDOUT_FILENO) == 1 ? .table : .json)
    source =
      switch access {
      case .own(let store): OwnStatements(store)
      case .peer(let peer): PeerStatements(peer, at: remotePeer)
      }
  }

  /// Has interruptions end the statement that runs, and not the program, until they are cancelled.
  func surviveInterruptions() -> Interruption { .survived { [source] in source.cancel() } }

  /// Runs a statement.
  ///
  /// - Returns: How it went.
  /// - Throws: What the statement fails with; `ToolError` when standard output is gone.
  @discardableResult
  func run(_ text: String) throws -> StatementOutcome {
    let start = ContinuousClock.now
    // What does not parse fails where it runs.
    let statement = try? DQL.parse(text)
    if format == .csv { try Self.checkHasColumns(statement) }
    var writer = makeWriter(nil, statement)
    let outcome: StatementOutcome
    do {
      outcome = try source.run(text, arguments) { event in
        switch event {
        case .columns(let columns): writer = makeWriter(columns, statement)
        case .row(let values): try writer.add(values)
        case .state: break
        }
      }
    } catch {
      // What was found before is shown.
      try writer.finish()
      throw error
    }
    try writer.finish()
    let summary = Self.summary(outcome, of: statement)
    Output.note(tellsTime ? "\(summary), \((ContinuousClock.now - start).text)" : summary)
    for hint in outcome.hints { Output.note("hint: \(hint.printable)") }
    return outcome
  }

  /// What a statement has done, without figures where it has none.
  private static func summary(_ outcome: StatementOutcome, of statement: Statement?) -> String {
    if outcome.changed > 0 { return "\(outcome.changed.counting("document")) changed" }
    switch statement {
    case .insert, .update, .delete, .evict:
      if outcome.rows == 0 { return "no document changed" }
    case .createIndex, .dropIndex, .alterSystem:
      if outcome.rows == 0 { return "done" }
    case .select, .compound, .show, .explain, .profile, .advise, nil: break
    }
    return outcome.rows.counting("row")
  }

  /// Shows the rows of a query, and again whenever they change, until it is interrupted.
  ///
  /// - Throws: As `run`.
  func watch(_ text: String) throws {
    if format == .csv { try Self.checkHasColumns(try? DQL.parse(text)) }
    var screen = LiveScreen(text)
    try source.watch(text, arguments, limit: screen.rowLimit) { event in
      switch event {
      case .columns(let columns): screen.begin(columns)
      case .row(let values): screen.add(values)
      case .state(let rows): try screen.show(of: rows) { makeWriter($0) }
      }
    }
    Output.note("no longer watched")
  }

  /// Separated values have a header, so the columns have to be known before the first row.
  ///
  /// - Throws: A `ToolError` if a query does not name its columns.
  private static func checkHasColumns(_ statement: Statement?) throws {
    guard let statement, statement.isQuery, statement.columnNames == nil else { return }
    throw ToolError(
      "separated values need named columns: SELECT a, b FROM …; dunlin export writes all fields")
  }

  private func makeWriter(_ columns: [TextKey]?, _ statement: Statement? = nil) -> any RowWriter {
    let write: ([UInt8]) throws -> Void = { try RawFile.output.write($0) }
    switch format {
    case .json: return JSONRowWriter(columns, to: write)
    case .csv: return SeparatedRowWriter(columns ?? [], to: write)
    case .table: break
    }
    let width = Terminal.width(of: STDOUT_FILENO)
    if let statement, let plan = PlanRowWriter(statement, terminalWidth: width, to: write) { return plan }
    return TableRowWriter(columns, terminalWidth: width, to: write)
  }
}

extension Error {
  /// Whether it says that the user has ended the statement.
  var isInterruption: Bool {
    switch self {
    case let error as QueryError: error.code == .cancelled
    case let error as ControlError: error.code == .cancelled
    default: false
    }
  }
}
