import CRDTCore
import Facade
import Foundation

/// Reads statements that a user types into a terminal, and runs each.
struct Prompt {
  private static let first = "dql> "
  private static let further = "...> "
  /// The words of DQL that are typed most.
  private static let words = [
    "ALTER", "AND", "BETWEEN", "COUNT", "CREATE", "DELETE", "DESC", "DISTINCT", "DOCUMENTS", "DROP", "EVICT",
    "EXPLAIN",
    "FROM", "GROUP", "HAVING", "INDEX", "INSERT", "INTO", "IS", "JOIN", "LIKE", "LIMIT", "MISSING", "NULL",
    "OFFSET",
    "ORDER", "PROFILE", "SELECT", "SHOW", "SYSTEM", "UNION", "UPDATE", "WHERE",
  ]

  let runner: StatementRunner
  let terminal: Terminal
  private var history = PromptHistory.ofUser()
  private var text = StatementText()

  init(_ runner: StatementRunner, _ terminal: Terminal) {
    (self.runner, self.terminal) = (runner, terminal)
  }

  /// Runs until the user ends it.
  ///
  /// - Throws: `ToolError` when standard output is gone.
  mutating func run() throws {
    Output.note("Statements end with a semicolon. .help tells more.")
    let interruption = runner.surviveInterruptions()
    defer { interruption.cancel() }
    let names = try names()
    func completions(_ word: String) -> [String] {
      names.filter { $0.lowercased().hasPrefix(word.lowercased()) }
    }
    while true {
      let editor = LineEditor(history: history.lines, complete: completions)
      switch terminal.read(text.isEmpty ? Self.first : Self.further, editor) {
      case .entered(let line): guard try take(line) else { return }
      case .abandoned: text.clear()
      case .ended: return
      case .goesOn, .clearsScreen: break
      }
    }
  }

  /// - Returns: Whether the prompt goes on.
  private mutating func take(_ line: String) throws -> Bool {
    let trimmed = line.trimmingCharacters(in: .whitespaces)
    if text.isEmpty {
      if trimmed.hasPrefix(".") {
        history.add(trimmed)
        return try telling { try DotCommand(trimmed).run(with: $0) } ?? true
      }
      if ["quit", "exit"].contains(trimmed.lowercased().trimmingSuffix(";")) { return false }
    }
    text.append(line: line)
    while let statement = text.takeEnded() {
      history.add(statement + ";")
      _ = try telling { try $0.run(statement) }
    }
    return true
  }

  /// Prints what `body` fails with, unless that is that nothing can be printed.
  private func telling<Result>(_ body: (StatementRunner) throws -> Result) throws -> Result? {
    do {
      return try body(runner)
    } catch let error where error.isInterruption {
      Output.note("interrupted")
    } catch let error as ToolError where error.isAboutOutput {
      throw error
    } catch {
      Output.note("\(error)")
    }
    return nil
  }

  /// What Tab completes: words of the language, commands, collections and their fields.
  private func names() throws -> [String] {
    var names = Set(Self.words + DotCommand.names)
    for collection in try runner.source.schema(of: nil, documents: 50).objects("collections") {
      if let name = collection.string("name") { names.insert(name) }
      names.formUnion(collection.objects("fields").compactMap { $0.string("name") })
    }
    return names.sorted()
  }
}

extension String {
  fileprivate func trimmingSuffix(_ suffix: String) -> String {
    hasSuffix(suffix) ? String(dropLast(suffix.count)).trimmingCharacters(in: .whitespaces) : self
  }
}
