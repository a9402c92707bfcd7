import ArgumentParser
import CRDTCore
import Dispatch
import DocStore
import Foundation
import QueryEngine
import Synchronization

struct QueryCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "query", abstract: "Run one DQL statement, or a prompt that reads them.",
    discussion: "A script on standard input runs to its end; the status is 1 when a statement of it failed.")

  @Argument(help: "The store's directory.")
  var store: String
  @Argument(help: "A statement; without one, statements are read line by line.")
  var statement: String?
  @Option(
    help: ArgumentHelp("A parameter's value as JSON, for example --arg min=60.", valueName: "name=json"))
  var arg: [Parameter] = []

  private static let bar = IndexProgressBar()

  func run() throws {
    let store = try Store.open(existing: store)
    defer { store.close() }
    let engine = Engine(
      store: store, parameters: SystemParameters(),
      environment: EngineEnvironment(
        now: { DispatchTime.now().uptimeNanoseconds }, indexProgress: { Self.bar.update($0) },
        log: { FileHandle.standardError.write(Data("\($0)\n".utf8)) },
        // Each result brings its own.
        hint: { _ in }))
    let arguments = Dictionary(arg.map { (TextKey($0.name), $0.value) }, uniquingKeysWith: { $1 })
    guard let statement else { return try prompt(engine, arguments) }
    try execute(statement, engine, arguments)
  }

  private func execute(_ statement: String, _ engine: Engine, _ arguments: [TextKey: Value]) throws {
    let start = ContinuousClock.now
    let result: QueryResult
    do {
      defer { Self.bar.finish() }
      result = try engine.execute(statement, arguments: arguments)
    }
    let time = ContinuousClock.now - start
    var out: [UInt8] = []
    for row in result.rows {
      JSON.write(.map(try row.values()), to: &out)
      out.append(0x0A)
    }
    try RawFile.output.write(out)
    let changed = result.mutatedDocumentIDs.count
    let what = changed > 0 ? "\(changed.counting("document")) changed" : result.rows.count.counting("row")
    Output.note("\(what), \(time.text)")
    for hint in result.hints { Output.note("hint: \(hint)") }
  }

  /// Executes standard input's lines, one statement each; those after one that fails too.
  ///
  /// A terminal shows a prompt. Of a script that a statement failed in, the status says so.
  private func prompt(_ engine: Engine, _ arguments: [TextKey: Value]) throws {
    let isTerminal = isatty(0) == 1
    var (number, failures) = (0, 0)
    while true {
      if isTerminal { FileHandle.standardError.write(Data("dql> ".utf8)) }
      guard let line = readLine() else { break }
      number += 1
      let statement = line.trimmingCharacters(in: .whitespaces)
      if statement.isEmpty { continue }
      if ["quit", "exit"].contains(statement.lowercased()) { break }
      do {
        try execute(statement, engine, arguments)
      } catch let error as ToolError {
        // Standard output is gone.
        throw error
      } catch {
        failures += 1
        Output.note(isTerminal ? "\(error)" : "line \(number): \(error)")
      }
    }
    if failures > 0, !isTerminal { throw ExitCode.failure }
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

struct Parameter: ExpressibleByArgument {
  let name: String
  let value: Value

  init?(argument: String) {
    guard let equals = argument.firstIndex(of: "=") else { return nil }
    name = String(argument[..<equals])
    let text = String(argument[argument.index(after: equals)...])
    guard let value = try? JSON.parse(text) else { return nil }
    self.value = value
  }
}
