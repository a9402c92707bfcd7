import CRDTCore
import Facade
import Foundation

/// Reads statements that a user types into a terminal, and runs each.
struct Prompt {
  private static let first = "dql> "
  private static let further = "...> "
  let runner: StatementRunner
  let terminal: Terminal
  private let completion: Completion
  private var history = PromptHistory.ofUser()
  private var text = StatementText()

  init(_ runner: StatementRunner, _ terminal: Terminal) {
    (self.runner, self.terminal) = (runner, terminal)
    completion = Completion(runner.source)
  }

  /// Runs until the user ends it.
  ///
  /// - Throws: `ToolError` when standard output is gone.
  mutating func run() throws {
    Output.note("Statements end with a semicolon. .help tells more.")
    let interruption = runner.surviveInterruptions()
    defer { interruption.cancel() }
    while true {
      let editor = LineEditor(history: history.lines) { [names = completion, text = self.text] word, before in
        names.candidates(for: word, after: text.isEmpty ? before : text.text + "\n" + before)
      }
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
      history.add(statement.text + ";")
      let outcome = try telling { try $0.run(statement.text) }
      if outcome.map({ $0.changed > 0 }) ?? true { completion.forgetNames() }
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
      Output.fail("\(error)")
    }
    return nil
  }
}

extension String {
  fileprivate func trimmingSuffix(_ suffix: String) -> String {
    hasSuffix(suffix) ? String(dropLast(suffix.count)).trimmingCharacters(in: .whitespaces) : self
  }
}
