import ArgumentParser
import CRDTCore
import Facade
import RulesTool

struct InspectCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "inspect", abstract: "Show what a store holds, check every record, or show one document.",
    discussion: """
      Examples:
        dunlin inspect store
        dunlin inspect store flights --json
        dunlin inspect store flights UA1545
      """)

  @Argument(help: "The store's directory.", completion: .directory)
  var store: String
  @Argument(help: "A collection: its documents are counted, measured and checked.")
  var collection: String?
  @Argument(help: "The id of one document, as JSON, or as plain text for a string.")
  var id: String?
  @Flag(help: "Print one JSON object.")
  var json = false

  func run() throws {
    let access = try StoreAccess.open(store)
    defer { access.close() }
    let report = try access.inspect(collection, id)
    if json { return try printJSON(report) }
    guard let collection else { return try showStore(report) }
    guard id != nil else { return try showCollection(report, collection) }
    try showDocument(report)
  }

  private func printJSON(_ report: [TextKey: Value]) throws {
    try Output.print(json: report)
    let damaged = report.integer("damaged") ?? 0
    if damaged > 0 { throw ToolError("\(damaged) records of \(collection ?? "the store") are damaged") }
  }

  private func showStore(_ report: [TextKey: Value]) throws {
    try Output.print("site      \(report.string("site") ?? "")")
    try Output.print("sequence  \(report.integer("sequence") ?? 0)")
    var table = TextTable(["collection", "documents", "digest"], rightAligned: [1])
    for collection in report.objects("collections") {
      table.add([
        (collection.string("name") ?? "").printable, (collection.integer("documents") ?? 0).groupedDigits,
        collection.string("digest") ?? "",
      ])
    }
    try Output.print(table.text)
  }

  private func showCollection(_ report: [TextKey: Value], _ name: String) throws {
    func number(_ name: TextKey) -> Int { report.integer(name) ?? 0 }
    try Output.print(
      """
      documents   \(number("documents").groupedDigits)
      tombstones  \(number("tombstones").groupedDigits)
      records     \(number("recordBytes").asBytes)
      damaged     \(number("damaged").groupedDigits)
      digest      \(report.string("digest") ?? "")
      """)
    if number("damaged") > 0 { throw ToolError("\(number("damaged")) records of \(name) are damaged") }
  }

  private func showDocument(_ report: [TextKey: Value]) throws {
    let state = report.boolean("isAlive") ?? true ? "alive" : "deleted: a tombstone"
    let fields = Value.map(report.members("fields") ?? [:])
    let bytes = (report.integer("recordBytes") ?? 0).groupedDigits
    try Output.print(
      "\(state), \(bytes) bytes as a record, \(JSON.text(of: fields).utf8.count.groupedDigits) as JSON")
    try Output.print(JSON.text(of: fields, options: .init(isPretty: true)))
  }
}
