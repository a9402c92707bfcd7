import CRDTCore
import DunlinControl
import Facade
import Foundation
import QueryEngine
import RulesTool

/// A line of the prompt that begins with a dot: about the prompt or the store, and no statement.
enum DotCommand {
  case help
  case tables
  case schema(String?)
  case explain(String)
  case watch(String)
  case timer(Bool)
  case mode(StatementRunner.Format)
  case quit

  static let names = [
    ".explain", ".help", ".mode", ".quit", ".schema", ".tables", ".timer",
    ".watch",
  ]

  /// What may stand behind a statement that is a line.
  private static let ends = CharacterSet(charactersIn: "; ")

  private static let helpText = """
    .tables              the collections, with how many documents each has
    .schema [collection] its fields with their types, of up to 1,000 documents, and its indexes
    .explain STATEMENT   how a statement would run
    .watch STATEMENT     the rows of a query, and again whenever they change, until Control-C
    .mode table|json|csv how rows are shown
    .timer on|off        whether the time of each statement is told
    .quit                ends the prompt, as Control-D does
    A statement ends with a semicolon and may have several lines. Control-C drops what is typed, or ends a statement
    that runs. Up and down go through earlier statements; Tab completes names.
    """

  /// - Throws: `ToolError` when there is no such command, or what follows it does not fit.
  init(_ line: String) throws {
    let parts = line.split(separator: " ", maxSplits: 1).map(String.init)
    let rest = parts.count > 1 ? parts[1].trimmingCharacters(in: .whitespaces) : ""
    switch (parts[0], rest) {
    case (".help", ""): self = .help
    case (".tables", ""): self = .tables
    case (".schema", _): self = .schema(rest.isEmpty ? nil : rest)
    case (".explain", _) where !rest.isEmpty: self = .explain(rest)
    case (".watch", _) where !rest.isEmpty: self = .watch(rest.trimmingCharacters(in: Self.ends))
    case (".timer", "on"), (".timer", "off"): self = .timer(rest == "on")
    case (".mode", _):
      guard let format = StatementRunner.Format(rawValue: rest) else {
        throw ToolError(".mode: table, json or csv must follow")
      }
      self = .mode(format)
    case (".quit", ""), (".exit", ""): self = .quit
    case (let name, _) where Self.names.contains(name):
      throw ToolError("\(name): see .help for what follows it")
    case (let name, _):
      let near = NameDistance.nearest(to: name, among: Self.names).map { ", did you mean \($0)?" } ?? ""
      throw ToolError("there is no command \(name.printable)\(near.isEmpty ? "; .help lists them" : near)")
    }
  }

  /// Runs it.
  ///
  /// - Returns: Whether the prompt goes on.
  func run(with runner: StatementRunner) throws -> Bool {
    switch self {
    case .help: try Output.print(Self.helpText)
    case .tables: try Self.showTables(of: runner.source)
    case .schema(let collection): try Self.showSchema(of: runner.source, collection)
    case .explain(let statement): try runner.run("EXPLAIN " + statement)
    case .watch(let statement): try runner.watch(statement)
    case .timer(let tells): runner.tellsTime = tells
    case .mode(let format): runner.format = format
    case .quit: return false
    }
    return true
  }

  private static func showTables(of source: any StatementSource) throws {
    let collections = try source.collections().objects("collections")
    guard !collections.isEmpty else { return Output.note("there are no collections") }
    var table = TextTable(["collection", "documents"], rightAligned: [1])
    for collection in collections {
      table.add([
        (collection.string("name") ?? "").printable, (collection.integer("documents") ?? 0).groupedDigits,
      ])
    }
    try Output.print(table.text)
  }

  private static func showSchema(of source: any StatementSource, _ name: String?) throws {
    let schema = try source.schema(of: name, documents: StoreReport.schemaDocuments)
    for collection in schema.objects("collections") {
      try Output.print((collection.string("name") ?? "").printable + "\n" + fieldsText(collection))
      for index in collection.objects("indexes") {
        let isReady = index.boolean("isReady") ?? true
        let text = "\(index.string("name") ?? "") (\(index.strings("keys").joined(separator: ", ")))"
        try Output.print("  index \(text.printable)\(isReady ? "" : ", being built")")
      }
    }
  }

  private static func fieldsText(_ collection: [TextKey: Value]) -> String {
    let (fields, count) = (collection.objects("fields"), collection.integer("documents") ?? 0)
    guard !fields.isEmpty else { return "  no fields" }
    func name(_ field: [TextKey: Value]) -> String { (field.string("name") ?? "").printable }
    let width = fields.map { name($0).columns }.max() ?? 0
    return fields.map { field in
      let share = field.integer("documents") ?? 0
      let part = share < count ? "  in \(share.groupedDigits) of \(count.groupedDigits)" : ""
      let types = field.strings("types").joined(separator: ", ")
      return "  \(name(field).padded(toColumns: width))  \(types)\(part)"
    }.joined(separator: "\n")
  }
}
