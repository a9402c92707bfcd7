import ArgumentParser
import CRDTCore
import DocStore
import Foundation

struct VerifyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify", abstract: "Read a whole store and name everything that is damaged.",
    discussion: """
      Every page, checksum, record, count and index row. Nothing is changed, and the store need not be whole \
      enough to open. Each thing that is wrong is a line of standard output. The status is 0 when nothing is, 3 \
      when something is, 1 when the store cannot be read at all.

      Example: dunlin verify store --json
      """)

  /// What tells scripts that there is damage, apart from a failure to look.
  static let damageStatus = ExitStatus.damaged

  @Argument(help: "The store's directory; nobody may have it open.", completion: .directory)
  var store: String
  @Flag(help: "Print one JSON object.")
  var json = false

  func run() throws {
    let report = try LongWork("Verifying").run { try Store.verify(at: store, progress: $0) }
    if json {
      try Output.print(json: report.values)
      if !report.isIntact { throw ExitCode(Self.damageStatus) }
      return
    }
    report.printAll()
    let read =
      "\(report.documentCount.counting("document")), \(report.entryCount.counting("entry", "entries")), "
      + report.pageCount.counting("page")
    guard report.isIntact else {
      FileHandle.standardError.write(Data("\(store): damaged; could read \(read)\n".utf8))
      throw ExitCode(Self.damageStatus)
    }
    print("Nothing is damaged: \(read)")
  }
}

extension VerificationReport {
  /// What the command prints as JSON.
  var values: [TextKey: Value] {
    [
      "isIntact": .bool(isIntact), "documents": .int(Int64(documentCount)),
      "entries": .int(Int64(entryCount)), "pages": .int(Int64(pageCount)),
      "damages": .array(damages.map { .string("\($0)") }), "damageCount": .int(Int64(damageCount)),
    ]
  }

  /// Prints a line for each thing that is damaged.
  func printAll() {
    for damage in damages { print(damage) }
    if damageCount > damages.count { print("and \((damageCount - damages.count).groupedDigits) more") }
  }
}
