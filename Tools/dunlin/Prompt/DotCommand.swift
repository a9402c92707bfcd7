import CRDTCore
import DocStore
import Foundation
import QueryEngine

/// A line of the prompt that begins with a dot: about the prompt or the store, and no statement.
enum DotCommand {
  case help
  case tables
  case schema(String?)
  case explain(String)
  case timer(Bool)
  case mode(StatementRunner.Format)
  case quit

  static let names = [".explain", ".help", ".mode", ".quit", ".schema", ".tables", ".timer"]

  private static let helpText = """
    .tables              the collections, with how many documents each has
    .schema [collection] its fields with their types, of up to 1,000 documents, and its indexes
    .explain STATEMENT   how a statement would run
    .mode table|json     how rows are shown
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
    case (".timer", "on"), (".timer", "off"): self = .timer(rest == "on")
    case (".mode", _):
      guard let format = StatementRunner.Format(rawValue: rest) else {
        throw ToolError(".mode: table or json must follow")
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
    case .tables: try Self.showTables(of: runner.store)
    case .schema(let collection): try Self.showSchema(of: runner.store, collection)
    case .explain(let statement): try runner.run("EXPLAIN " + statement)
    case .timer(let tells): runner.tellsTime = tells
    case .mode(let format): runner.format = format
    case .quit: return false
    }
    return true
  }

  private static func showTables(of store: Store) throws {
    let collections = try store.read { try $0.collections() }
    guard !collections.isEmpty else { return Output.note("there are no collections") }
    var table = TextTable(["collection", "documents"], rightAligned: [1])
    for collection in collections {
      table.add([collection.name.printable, collection.documentCount.groupedDigits])
    }
    try Output.print(table.text)
  }

  private static func showSchema(of store: Store, _ name: String?) throws {
    try store.read { transaction in
      let names = try transaction.collections().map(\.name)
      if let name, !names.contains(name) {
        let near = NameDistance.nearest(to: name, among: names).map { "; did you mean '\($0)'?" } ?? ""
        throw ToolError("there is no collection '\(name.printable)'\(near)")
      }
      for name in name.map({ [$0] }) ?? names {
        guard let collection = try transaction.collection(name) else { continue }
        let sample = try FieldSample(of: collection, in: transaction)
        try Output.print("\(name.printable)\n" + sample.text)
        for index in try transaction.indexes(of: collection) {
          try Output.print("  index \(index.definition.name)\(index.state == .ready ? "" : ", being built")")
        }
      }
    }
  }
}

/// The fields of some documents of a collection, with the types of their values.
private struct FieldSample {
  /// So many documents are looked at.
  static let documents = 1_000

  private var types: [TextKey: [String: Int]] = [:]
  private var count = 0

  init(of collection: DocStore.Collection, in transaction: borrowing ReadTransaction) throws {
    var (types, count) = ([TextKey: [String: Int]](), 0)
    try transaction.forEachRecord(in: collection) { _, _, record in
      guard record.isAlive else { return true }
      for (name, value) in try record.fields(collection.keys) {
        types[name, default: [:]][value.typeName, default: 0] += 1
      }
      count += 1
      return count < Self.documents
    }
    (self.types, self.count) = (types, count)
  }

  var text: String {
    guard !types.isEmpty else { return "  no fields" }
    let width = types.keys.map { $0.text.printable.columns }.max() ?? 0
    return types.sorted { $0.key < $1.key }.map { name, types in
      let listed = types.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map(\.key).joined(separator: ", ")
      let share = types.values.reduce(0, +)
      let part = share < count ? "  in \(share.groupedDigits) of \(count.groupedDigits)" : ""
      return "  \(name.text.printable.padded(toColumns: width))  \(listed)\(part)"
    }.joined(separator: "\n")
  }
}

extension Value {
  /// What users call the type of a value.
  fileprivate var typeName: String {
    switch self {
    case .null: "null"
    case .bool: "boolean"
    case .int: "integer"
    case .double: "double"
    case .string: "string"
    case .decimal: "decimal"
    case .bytes: "bytes"
    case .array: "array"
    case .map: "map"
    case .counter: "counter"
    case .attachment: "attachment"
    }
  }
}
