import ArgumentParser
import CRDTCore
import Foundation

struct QueryCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "query", abstract: "Run one DQL statement, or a prompt that reads them.",
    discussion: """
      On a terminal rows are a table that fits it, elsewhere lines of JSON. Rows are written as they are found, with the \
      columns in the order of the statement. With --csv they are separated values with a header; the statement has to name its columns.

      A store that a running peer has open is asked through that peer: its commits show at once, and it goes on syncing.

      With --at a peer that is connected to the running one runs the statements on its own data: SELECT alone, and only if it allows \
      that (serve --answer-queries).

      A script, in a file, on standard input or as the argument, runs to its end; the status is 1 when a statement of it failed. \
      Semicolons end its statements; with one statement on each line it needs none.

      Examples:
        dunlin query store "SELECT dest, COUNT(*) AS n FROM flights GROUP BY dest"
        dunlin query store "SELECT * FROM c WHERE n > :m" --arg m=120 --json
        dunlin query store "SELECT * FROM c WHERE t = :t" --arg 't="red"'
        dunlin query store "SELECT _id, total FROM orders" --csv > orders.csv
        dunlin query store "SELECT COUNT(*) AS n FROM orders" --at depot
        dunlin query store --file script.dql
        dunlin query store
      """)

  @Argument(
    help: "The store's directory, or the data directory of a big peer that runs.", completion: .directory)
  var store: String
  @OptionGroup
  var choice: ApplicationChoice
  @Argument(help: "A statement, or several with semicolons; without one they are read from standard input.")
  var statement: String?
  @Option(
    name: .shortAndLong,
    help: ArgumentHelp("A script whose statements run, or - for standard input.", valueName: "file"),
    completion: .file())
  var file: String?
  @Option(
    help: ArgumentHelp(
      "A parameter's value as JSON, for example --arg min=60, and --arg 'color=\"red\"' for a text.",
      valueName: "name=json"), transform: Parameter.init)
  var arg: [Parameter] = []
  @Option(
    help: ArgumentHelp("The peer that runs the statements: its name or its id.", valueName: "peer"))
  var at: String?
  @Flag(help: "Write rows as lines of JSON, also on a terminal.")
  var json = false
  @Flag(help: "Write rows as a table, also into a file or pipe.")
  var table = false
  @Flag(help: "Write rows as separated values with a header; the statement has to name its columns.")
  var csv = false

  func validate() throws {
    guard [json, table, csv].count(where: { $0 }) <= 1 else {
      throw ValidationError("--json, --table and --csv exclude each other")
    }
    if statement != nil, file != nil { throw ValidationError("a statement and --file exclude each other") }
  }

  func run() throws {
    // Peers are connected to a peer that runs, and not to a store.
    let access =
      try at == nil
      ? StoreAccess.open(store, application: choice.application)
      : .peer(StoreAccess.peer(of: store, application: choice.application))
    defer { access.close() }
    let arguments = Dictionary(arg.map { (TextKey($0.name), $0.value) }, uniquingKeysWith: { $1 })
    let runner = StatementRunner(
      access, at: at, arguments, format: json ? .json : table ? .table : csv ? .csv : nil)
    if let statement {
      if StatementText.isSeveral(statement) {
        var rest = [statement]
        var script = Script(runner, name: "statement")
        try script.run { rest.popLast() }
        if script.failures > 0 { throw ExitCode.failure }
      } else {
        try runner.run(statement)
      }
      return
    }
    if file == nil, let terminal = Terminal() {
      var prompt = Prompt(runner, terminal)
      return try prompt.run()
    }
    let source = try ByteSource(path: file ?? "-")
    var lines = SourceLines(source)
    var script = Script(runner, name: source.name)
    try script.run { try lines.next() }
    if script.failures > 0 { throw ExitCode.failure }
  }
}

/// A parameter of a statement, written `name=json`.
struct Parameter {
  let name: String
  let value: Value

  /// - Throws: A `ValidationError` that says how the value is written.
  init(_ argument: String) throws {
    guard let equals = argument.firstIndex(of: "="), equals != argument.startIndex else {
      throw ValidationError("'\(argument)' has no name and value: write --arg min=60")
    }
    name = String(argument[..<equals])
    let text = String(argument[argument.index(after: equals)...])
    do {
      value = try JSON.parse(text)
    } catch {
      throw ValidationError(
        "the value of \(name) is not JSON: \(text) (for a text write --arg '\(name)=\(JSON.text(of: .string(text)))')"
      )
    }
  }
}
