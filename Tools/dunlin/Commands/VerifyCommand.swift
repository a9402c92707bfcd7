import ArgumentParser
import CRDTCore
import DocStore
import DunlinControl
import Facade
import Foundation
import PeerControl

struct VerifyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify", abstract: "Read a whole store and name everything that is damaged.",
    discussion: """
      Every page, checksum, record, count and index row. Nothing is changed, and the store need not be whole \
      enough to open. Each thing that is wrong is a line of standard output. The status is 0 when nothing is, 3 \
      when something is, 1 when the store cannot be read at all. A peer may have the store open, and goes on.

      Example: dunlin verify store --json
      """)

  /// What tells scripts that there is damage, apart from a failure to look.
  static let damageStatus = ExitStatus.damaged

  @Argument(help: "The store's directory.", completion: .directory)
  var store: String
  @Flag(help: "Print one JSON object.")
  var json = false

  func run() throws {
    let report = try LongWork("Verifying").run { try verify($0) }
    if json {
      try Output.print(json: report)
      if report.boolean("isIntact") != true { throw ExitCode(Self.damageStatus) }
      return
    }
    for damage in report.strings("damages") { try Output.print(damage) }
    let more = (report.integer("damageCount") ?? 0) - report.strings("damages").count
    if more > 0 { try Output.print("and \(more.groupedDigits) more") }
    func number(_ name: TextKey) -> Int { report.integer(name) ?? 0 }
    let read =
      "\(number("documents").counting("document")), \(number("entries").counting("entry", "entries")), "
      + number("pages").counting("page")
    guard report.boolean("isIntact") ?? false else {
      let line = "\(store): damaged; went through \(read)\(Self.unread(report))\n"
      FileHandle.standardError.write(Data(line.utf8))
      throw ExitCode(Self.damageStatus)
    }
    try Output.print("Nothing is damaged: \(read)")
  }

  /// How much could not be read; empty if the peer that has the store open does not say it.
  private static func unread(_ report: [TextKey: Value]) -> String {
    guard let pages = report.integer("unreadPages") else { return "" }
    func text(_ name: TextKey, _ one: String, _ many: String) -> String {
      report.integer(name)?.counting(one, many) ?? "an unknown number of \(many)"
    }
    let documents = text("unreadDocuments", "document", "documents")
    let entries = text("unreadEntries", "entry", "entries")
    return "; could not read \(documents), \(entries), \(pages.counting("page"))"
  }

  /// What is damaged, by the peer that has the store open, or without opening it.
  private func verify(_ progress: @escaping (MaintenanceProgress) throws -> Void) throws -> [TextKey: Value] {
    guard let peer = try RunningPeer.of(store: store) else {
      return StoreReport.values(of: try Store.verify(at: store, progress: progress))
    }
    return try peer.ask("verify") {
      try $0.passProgress { try progress(MaintenanceProgress(done: $0, total: $1)) }
    }
  }
}

extension VerificationReport {
  /// What the command prints as JSON.
  var values: [TextKey: Value] {
    [
      "isIntact": .bool(isIntact), "documents": .int(Int64(documentCount)),
      "entries": .int(Int64(entryCount)), "pages": .int(Int64(pageCount)),
      "unreadDocuments": unreadDocuments.map { Value.int(Int64($0)) } ?? .null,
      "unreadEntries": unreadEntries.map { Value.int(Int64($0)) } ?? .null,
      "unreadPages": .int(Int64(unreadPages)),
      "damages": .array(damages.map { .string("\($0)") }), "damageCount": .int(Int64(damageCount)),
    ]
  }

  /// Prints a line for each thing that is damaged.
  func printAll() {
    for damage in damages { print(damage) }
    if damageCount > damages.count { print("and \((damageCount - damages.count).groupedDigits) more") }
  }
}
