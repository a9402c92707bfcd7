import CRDTCore
import Facade
import Foundation
import QueryEngine

/// Runs statements and prints what they answer: rows as they are found, so that a result of any size takes little memory.
final class StatementRunner {
  enum Format: String {
    case json, table
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
  ///   - arguments: The values of their parameters.
  ///   - format: How rows are written; `nil` is a table on a terminal, and JSON elsewhere.
  init(_ access: StoreAccess, _ arguments: [TextKey: Value], format: Format?) {
    self.arguments = arguments
    self.format = format ?? (isatty(STDOUT_FILENO) == 1 ? .table : .json)
    source =
      switch access {
      case .own(let store): OwnStatements(store)
      case .peer(let peer): PeerStatements(peer)
      }
  }

  /// Has interruptions end the statement that runs, and not the program, until they are cancelled.
  func surviveInterruptions() -> Interruption { .survived { [source] in source.cancel() } }

  /// Runs a statement.
  ///
  /// - Throws: What the statement fails with; `ToolError` when standard output is gone.
  func run(_ text: String) throws {
    let start = ContinuousClock.now
    var writer = makeWriter(nil)
    let outcome: StatementOutcome
    do {
      outcome = try source.run(text, arguments) { event in
        switch event {
        case .columns(let columns): writer = makeWriter(columns)
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
    if outcome.rows == 0, outcome.changed == 0 { try hint(text) }
    let summary =
      outcome.changed > 0
      ? "\(outcome.changed.counting("document")) changed" : outcome.rows.counting("row")
    Output.note(tellsTime ? "\(summary), \((ContinuousClock.now - start).text)" : summary)
    for hint in outcome.hints { Output.note("hint: \(hint)") }
  }

  /// Shows the rows of a query, and again whenever they change, until it is interrupted.
  ///
  /// - Throws: As `run`.
  func watch(_ text: String) throws {
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

  private func makeWriter(_ columns: [TextKey]?) -> any RowWriter {
    let write: ([UInt8]) throws -> Void = { try RawFile.output.write($0) }
    switch format {
    case .json: return JSONRowWriter(columns, to: write)
    case .table:
      return TableRowWriter(columns, terminalWidth: Terminal.width(of: STDOUT_FILENO), to: write)
    }
  }

  /// Says so where a query found nothing because a collection of that name was never written.
  private func hint(_ text: String) throws {
    // It has run, so that it parses.
    guard let statement = try? DQL.parse(text), statement.isQuery else { return }
    let known = try source.collections().objects("collections").compactMap { $0.string("name") }
    for name in statement.collectionsRead.sorted() where !known.contains(name.text) {
      guard !name.text.contains(":"), !name.text.hasPrefix("__") else { continue }
      let near = NameDistance.nearest(to: name.text, among: known).map { "; did you mean '\($0)'?" } ?? ""
      Output.note("there is no collection '\(name.text.printable)' yet\(near)")
    }
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
