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
      """)

  /// What tells scripts that there is damage, apart from a failure to look.
  static let damageStatus: Int32 = 3

  @Argument(help: "The store's directory; nobody may have it open.")
  var store: String

  func run() throws {
    let report = try LongWork("Verifying").run { try Store.verify(at: store, progress: $0) }
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
  /// Prints a line for each thing that is damaged.
  func printAll() {
    for damage in damages { print(damage) }
    if damageCount > damages.count { print("and \((damageCount - damages.count).groupedDigits) more") }
  }
}
