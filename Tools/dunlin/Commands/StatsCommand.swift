import ArgumentParser
import CRDTCore
import Facade
import RulesTool

struct StatsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "stats", abstract: "Show how a store stands: documents, bytes, free pages, log, sites.",
    discussion: """
      It takes as long as a few reads, however large the store is. A peer may have it open.

      Example: dunlin stats store --json
      """)

  @Argument(help: "The store's directory.", completion: .directory)
  var store: String
  @Flag(help: "Print one JSON object.")
  var json = false

  func run() throws {
    let access = try StoreAccess.open(store)
    defer { access.close() }
    let statistics = try access.statistics()
    try Output.print(json ? JSON.text(of: .map(statistics)) : Self.text(statistics))
  }

  /// A line where the store's clock is too far ahead.
  private static func lead(_ seconds: Int) -> String {
    guard seconds > 300 else { return "" }
    return "\nclock       \(seconds.groupedDigits) s ahead of the wall clock: 'dunlin clock' says more"
  }

  private static func text(_ statistics: [TextKey: Value]) -> String {
    func number(_ name: TextKey) -> Int { statistics.integer(name) ?? 0 }
    var table = TextTable(["collection", "documents", "tombstones"], rightAligned: [1, 2])
    for (name, counts) in (statistics.members("collections") ?? [:]).sorted(by: { $0.key < $1.key }) {
      guard case .map(let counts) = counts else { continue }
      table.add([
        name.text.printable, (counts.integer("documents") ?? 0).groupedDigits,
        (counts.integer("tombstones") ?? 0).groupedDigits,
      ])
    }
    let change = statistics.string("identityChange").map { ", new since this open: \($0)" }
    return """
      site        \(statistics.string("site") ?? "")\(change ?? "")
      sequence    \(number("sequence"))\(Self.lead(number("clockLeadSeconds")))
      sites       \(number("sites").groupedDigits) that wrote what is here
      documents   \(number("documents").groupedDigits), \(number("oversize").groupedDigits) too large to be sent
      tombstones  \(number("tombstones").groupedDigits)
      file        \(number("fileBytes").asBytes): \(number("usedBytes").asBytes) used, \(number("freeBytes").asBytes) free
      limit       \(number("mapBytes").asBytes)
      \(table.text)
      """
  }
}
