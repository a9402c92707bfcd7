import CRDTCore
import DocStore
import Foundation
import QueryEngine
import Synchronization

/// Runs statements and prints what they answer: rows as they are found, so that a result of any size takes little memory.
final class StatementRunner {
  enum Format: String {
    case json, table
  }

  var format: Format
  /// Whether the time of each statement is told.
  var tellsTime = true
  private let engine: Engine
  private let arguments: [TextKey: Value]
  private let bar: IndexProgressBar
  private let running = CurrentStatement()

  /// Prepares a store for statements.
  ///
  /// - Parameters:
  ///   - store: What they run on.
  ///   - arguments: The values of their parameters.
  ///   - format: How rows are written; `nil` is a table on a terminal, and JSON elsewhere.
  init(_ store: Store, _ arguments: [TextKey: Value], format: Format?) {
    let bar = IndexProgressBar()
    self.bar = bar
    self.arguments = arguments
    self.format = format ?? (isatty(STDOUT_FILENO) == 1 ? .table : .json)
    engine = Engine(
      store: store, parameters: SystemParameters(),
      environment: EngineEnvironment(
        now: { DispatchTime.now().uptimeNanoseconds },
        wallClock: { Int64(clamping: StoreOptions.systemMilliseconds()) },
        zoneOffset: { zone, milliseconds in
          TimeZone(identifier: zone)?
            .secondsFromGMT(for: Date(timeIntervalSince1970: Double(milliseconds) / 1_000))
        }, indexProgress: { bar.update($0) }, log: { Output.note($0) },
        // Each result brings its own.
        hint: { _ in }))
  }

  var store: Store { engine.store }

  /// Has interruptions end the statement that runs, and not the program, until they are cancelled.
  func surviveInterruptions() -> Interruption { .survived { [running] in running.context?.cancel() } }

  /// Runs a statement.
  ///
  /// - Throws: What the statement fails with; `ToolError` when standard output is gone.
  func run(_ text: String) throws {
    let context = engine.makeContext()
    running.context = context
    defer { running.context = nil }
    let start = ContinuousClock.now
    let prepared = try engine.prepare(text)
    let summary = try prepared.statement.isQuery ? rows(of: prepared, context) : answer(to: prepared, context)
    Output.note(tellsTime ? "\(summary), \((ContinuousClock.now - start).text)" : summary)
    for hint in context.hints { Output.note("hint: \(hint)") }
  }

  private func rows(of prepared: PreparedStatement, _ context: StatementContext) throws -> String {
    var writer = makeWriter(prepared.statement.columnNames)
    var count = 0
    do {
      try engine.forEachRow(of: prepared, arguments: arguments, context: context) { row, _ in
        try writer.add(row)
        count += 1
        return true
      }
    } catch {
      // What was found before is shown.
      try writer.finish()
      throw error
    }
    try writer.finish()
    if count == 0 { try hint(prepared.statement) }
    return count.counting("row")
  }

  private func answer(to prepared: PreparedStatement, _ context: StatementContext) throws -> String {
    defer { bar.finish() }
    let result = try engine.execute(prepared, arguments: arguments, context: context)
    var writer = makeWriter(nil)
    for row in result.rows { try writer.add(row) }
    try writer.finish()
    let changed = result.mutatedDocumentIDs.count
    if changed > 0 { return "\(changed.counting("document")) changed" }
    return result.rows.count.counting("row")
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
  private func hint(_ statement: Statement) throws {
    let known = try store.read { try $0.collections() }.map(\.name)
    for name in statement.collectionsRead.sorted() where !known.contains(name.text) {
      guard !name.text.contains(":"), !name.text.hasPrefix("__") else { continue }
      let near = NameDistance.nearest(to: name.text, among: known).map { "; did you mean '\($0)'?" } ?? ""
      Output.note("there is no collection '\(name.text.printable)' yet\(near)")
    }
  }
}

/// The statement that runs, which an interruption ends from another thread.
private final class CurrentStatement: Sendable {
  private let current = Mutex<StatementContext?>(nil)

  var context: StatementContext? {
    get { current.withLock { $0 } }
    set { current.withLock { $0 = newValue } }
  }
}

/// Shows how far CREATE INDEX has come.
private final class IndexProgressBar: Sendable {
  private let bar = Mutex<Progress?>(nil)

  func update(_ progress: IndexProgress) {
    bar.withLock { bar in
      if bar == nil { bar = Progress("index", total: progress.total) }
      bar?.update(progress.indexed)
    }
  }

  func finish() {
    bar.withLock { bar in
      _ = bar?.finish(0)
      bar = nil
    }
  }
}
