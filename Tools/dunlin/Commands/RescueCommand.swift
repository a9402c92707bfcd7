import ArgumentParser
import CRDTCore
import DocStore
import Facade
import Foundation

struct RescueCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rescue", abstract: "Take all that can be read out of a damaged store into a new one.",
    discussion: """
      The damaged store need not be whole enough to open, and is not changed. Deletions and indexes are taken along; \
      the new store is another site. Each thing that is damaged in the old one is a line of standard output. The \
      status is 0 when there is a new store.

      Example: dunlin rescue store store-rescued
      """)

  @Argument(help: "The damaged store's directory; nobody may have it open.", completion: .directory)
  var store: String
  @Argument(help: "The new directory: it must not exist, or be empty.", completion: .directory)
  var target: String
  @Flag(help: "Print one JSON object.")
  var json = false

  func run() throws {
    let report = try Store.alone(
      store,
      whileRunning:
        "a rescue needs it ended; 'dunlin verify \(store)' says what is damaged while it runs, and 'dunlin backup \(store) COPY' copies a whole store"
    ) {
      try LongWork("Rescuing").run {
        try Store.rescue(from: store, to: target, carrying: Dunlin.carriedFiles, progress: $0)
      }
    }
    if json {
      return try Output.print(json: [
        "target": .string(target), "documents": .int(Int64(report.documentCount)),
        "strays": .int(Int64(report.strayCount)), "indexes": .int(Int64(report.indexCount)),
        "certificates": .int(Int64(report.certificateCount)), "damage": .map(report.damage.values),
      ])
    }
    report.damage.printAll()
    print("\(target): \(report.documentCount.counting("document"))")
    print("\(report.strayCount.groupedDigits) of them from pages that were damaged or out of reach")
    let indexes = report.indexCount.counting("index", "indexes")
    print("\(report.certificateCount.counting("certificate")) of deletions, \(indexes)")
  }
}
