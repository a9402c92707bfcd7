import ArgumentParser
import CRDTCore
import DocStore

struct StatsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "stats", abstract: "Show how a store stands: documents, bytes, free pages, log, sites.",
    discussion: """
      It takes as long as a few reads, however large the store is.

      Example: dunlin stats store --json
      """)

  @Argument(help: "The store's directory; nobody may have it open.", completion: .directory)
  var store: String
  @Flag(help: "Print one JSON object.")
  var json = false

  func run() throws {
    let store = try Store.open(existing: store)
    defer { store.close() }
    let statistics = try store.statistics()
    print(json ? JSON.text(of: .map(Self.values(statistics))) : Self.text(statistics))
  }

  private static func text(_ statistics: StoreStatistics) -> String {
    var table = TextTable(["collection", "documents", "tombstones"], rightAligned: [1, 2])
    for collection in statistics.collections {
      table.add([
        collection.name, collection.documentCount.groupedDigits, collection.tombstoneCount.groupedDigits,
      ])
    }
    let free = statistics.freePages * statistics.pageBytes
    let change = statistics.identityChange.map { ", new since this open: \($0.reason)" } ?? ""
    return """
      site        \(statistics.site)\(change)
      sequence    \(statistics.sequence)
      sites       \(statistics.siteCount.groupedDigits) that wrote what is here
      documents   \(statistics.documentCount.groupedDigits), \(statistics.oversizeCount.groupedDigits) too large to be sent
      tombstones  \(statistics.tombstoneCount.groupedDigits)
      file        \(statistics.fileBytes.asBytes): \(statistics.usedBytes.asBytes) used, \(free.asBytes) free
      limit       \(statistics.mapBytes.asBytes)
      \(table.text)
      """
  }

  private static func values(_ statistics: StoreStatistics) -> [TextKey: Value] {
    func int(_ number: Int) -> Value { .int(Int64(number)) }
    return [
      "site": .string(statistics.site.description), "sequence": .int(Int64(clamping: statistics.sequence)),
      "identityChange": statistics.identityChange.map { .string($0.reason.rawValue) } ?? .null,
      "sites": int(statistics.siteCount), "documents": int(statistics.documentCount),
      "tombstones": int(statistics.tombstoneCount), "oversize": int(statistics.oversizeCount),
      "fileBytes": int(statistics.fileBytes), "usedBytes": int(statistics.usedBytes),
      "freeBytes": int(statistics.freePages * statistics.pageBytes), "mapBytes": int(statistics.mapBytes),
      "collections": .map(
        Dictionary(
          statistics.collections.map {
            (
              TextKey($0.name),
              .map(["documents": int($0.documentCount), "tombstones": int($0.tombstoneCount)])
            )
          }, uniquingKeysWith: { $1 })),
    ]
  }
}
