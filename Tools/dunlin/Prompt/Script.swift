import DunlinControl
import Facade
import Foundation
import QueryEngine

/// Runs the statements of a file or of standard input, those after one that fails too.
///
/// A semicolon ends a statement. So does the end of a line, if the next line begins another statement.
/// Scripts with one statement on each line therefore need no semicolons.
struct Script {
  private static let beginnings: Set<String> = [
    "SELECT", "INSERT", "UPDATE", "DELETE", "EVICT", "TOMBSTONE", "CREATE", "DROP", "ALTER", "SHOW",
    "EXPLAIN", "PROFILE",
    "ADVISE", "QUIT", "EXIT",
  ]

  let runner: StatementRunner
  private let name: String
  private var text = StatementText()
  private(set) var failures = 0

  /// - Parameters:
  ///   - runner: Runs the statements.
  ///   - name: What errors call the script.
  init(_ runner: StatementRunner, name: String) { (self.runner, self.name) = (runner, name) }

  /// Runs to the end of the input, or to `quit`.
  ///
  /// - Parameter nextLine: Gives a line without its end; `nil` behind the last one.
  /// - Throws: `ToolError` when standard output is gone.
  mutating func run(_ nextLine: () throws -> String?) throws {
    while let line = try nextLine() {
      if begins(line), let statement = text.takeAll() { try execute(statement) }
      if text.isEmpty {
        let trimmed = line.trimmingCharacters(in: .whitespaces)
        if ["quit", "exit"].contains(trimmed.lowercased()) { return }
        if trimmed.hasPrefix(".") {
          // The text that its statement is a part of is another one.
          let place = text.skipLine()
          guard
            try telling(at: place, isStatement: false, { try DotCommand(trimmed).run(with: $0) }) ?? true
          else { return }
          continue
        }
      }
      text.append(line: line)
      while let statement = text.takeEnded() { try execute(statement) }
    }
    if let statement = text.takeAll() { try execute(statement) }
  }

  /// Whether a line begins a new statement.
  ///
  /// It continues the current statement if only the two together make sense.
  private func begins(_ line: String) -> Bool {
    guard !text.isEmpty else { return false }
    let trimmed = line.drop(while: \.isWhitespace)
    let word = trimmed.prefix(while: \.isLetter).uppercased()
    guard Self.beginnings.contains(word) || trimmed.hasPrefix(".") else { return false }
    let both = text.text + "\n" + line
    do {
      _ = try DQL.parse(text.text)
      return true
    } catch {
      do {
        _ = try DQL.parse(both)
        return false
      } catch {
        return (error.position?.offset ?? 0) <= text.text.utf8.count + line.utf8.count - trimmed.utf8.count
          + 1
      }
    }
  }

  private mutating func execute(_ statement: StatementText.Statement) throws {
    _ = try telling(at: statement.place, isStatement: true) { try $0.run(statement.text) }
  }

  /// Runs `body`; what it fails with is one line, which begins with the place as compilers have it.
  private mutating func telling<Result>(
    at place: StatementText.Place, isStatement: Bool, _ body: (StatementRunner) throws -> Result
  ) throws -> Result? {
    do {
      return try body(runner)
    } catch let error as ToolError where error.isAboutOutput {
      throw error
    } catch {
      failures += 1
      let told = ControlError(any: error)
      var place = place
      if isStatement, let inside = told.place {
        place = place.moved(toLine: inside.line, column: inside.column)
      }
      Output.note(
        "\(name):\(place.line):\(place.column): \(Style.errors(.red, told.message.printable))")
      return nil
    }
  }
}
