import ArgumentParser
import CRDTCore
import Facade

struct ClockCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "clock",
    abstract: "Show how far a store's clock is ahead of the wall clock, or put it right.",
    discussion: """
      Each write is later than those before. Where the wall clock was ahead once, later writes go on from there, and win every \
      conflict until the wall clock has come that far. With --trust they begin at the wall clock again, which must be right. The store \
      is another peer from then on. A peer may have it open.

      Example: dunlin clock store --trust
      """)

  @Argument(help: "The store's directory.", completion: .directory)
  var store: String
  @Flag(help: "The wall clock is right now: begin there.")
  var trust = false
  @Flag(help: "Print one JSON object.")
  var json = false

  func run() throws {
    let access = try StoreAccess.open(store)
    defer { access.close() }
    let values = try access.clock(isTrusted: trust)
    if json { return try Output.print(json: values) }
    let seconds = values.integer("leadSeconds") ?? 0
    let state = seconds > 0 ? "\(seconds.groupedDigits) s ahead of the wall clock" : "right by the wall clock"
    let end = values.boolean("beganAnew") ?? false ? "; it begins anew there, as another peer" : ""
    try Output.print("the store's clock \(trust ? "was" : "is") \(state)\(end)")
  }
}
