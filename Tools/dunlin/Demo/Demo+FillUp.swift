import CRDTCore
import Foundation
import PeerControl
import Synchronization

/// Step 1: import and multi-hop replication; step 2: live updates.
extension Demo {
  func fillUp() async throws {
    title(
      1,
      "The tablet imports the flights. The cloud subscribed to everything, the phone to \(Self.interest): late departures from Kennedy. The phone gets them through the cloud."
    )
    let start = ContinuousClock.now
    var expected: [String: Int] = [:]
    var isLate = 0
    for collection in SampleData.collections {
      var lines = 0
      try forEachDocument(in: data.file(collection)) { fields in
        lines += 1
        guard collection == "flights", fields["origin"] == .string("JFK"),
          case .int(let delay)? = fields["dep_delay"]
        else { return }
        if delay > 60 { isLate += 1 }
      }
      expected[collection] = lines
    }
    say(
      "The files hold \(expected.values.reduce(0, +).groupedDigits) documents; \(isLate.groupedDigits) flights are for the phone."
    )
    for collection in SampleData.collections { try await importFile(collection, expected[collection] ?? 0) }
    let imported = ContinuousClock.now
    try await follow(cloud, "flights", expected["flights"] ?? 0)
    try await follow(phone, "flights", isLate)
    for collection in SampleData.collections {
      try await follow(cloud, collection, expected[collection] ?? 0)
    }
    let seconds = (ContinuousClock.now - start).seconds
    let late = (ContinuousClock.now - imported).seconds
    report.addFirstSync(
      "tablet", documents: expected.values.reduce(0, +), seconds: (imported - start).seconds)
    report.addFirstSync("cloud", documents: expected.values.reduce(0, +), seconds: seconds)
    report.addFirstSync("phone", documents: isLate, seconds: seconds)
    say(
      String(
        format: "Everything is everywhere %.1f s after the import began, %.2f s after it ended.", seconds,
        late))
    for collection in SampleData.collections {
      report.check(
        "tablet", collection, expected: expected[collection] ?? 0, found: try await count(tablet, collection))
      let mine = try await digest(tablet, collection, "true")
      report.check(
        "cloud", "\(collection), as at the tablet", expected: mine,
        found: try await digest(cloud, collection, "true"))
    }
    report.check("phone", "late flights from JFK", expected: isLate, found: try await count(phone, "flights"))
    let wanted = try await digest(tablet, "flights", Self.interest)
    report.check(
      "phone", "flights, as at the tablet", expected: wanted,
      found: try await digest(phone, "flights", "true"))
  }

  private func importFile(_ collection: String, _ total: Int) async throws {
    var bar = Progress("     tablet imports \(collection)", total: total)
    let file = data.file(collection)
    let isDone = Atomic(false)
    async let request = answer(to: ["collection": .string(collection), "file": .string(file)], isDone)
    while !isDone.load(ordering: .acquiring) {
      try await Task.sleep(for: .milliseconds(50))
      if let event = tablet.takeEvents("progress").last { bar.update(event.number("count")) }
    }
    let count = try await request.number("count")
    show(bar.finish(count))
  }

  private func answer(to details: [TextKey: Value], _ isDone: borrowing Atomic<Bool>) async throws
    -> [TextKey: Value]
  {
    defer { isDone.store(true, ordering: .releasing) }
    return try await tablet.ask("import", details)
  }

  /// Shows how a collection fills up at a peer.
  private func follow(_ peer: ChildPeer, _ collection: String, _ total: Int) async throws {
    var bar = Progress("     \(peer.name) receives \(collection)", total: total)
    let before = try await count(peer, collection)
    guard before < total else { return }
    let isComplete = try await eventually(within: .seconds(180)) {
      let count = try await count(peer, collection)
      bar.update(count)
      return count >= total
    }
    show(bar.finish(try await count(peer, collection)))
    if !isComplete { throw ToolError("\(peer.name) did not receive all of \(collection)") }
  }

  private func forEachDocument(in file: String, _ body: ([TextKey: Value]) -> Void) throws {
    let source = try ByteSource(path: file)
    var lines = JSONLines()
    func take(_ number: Int, _ line: RawSpan) throws {
      if case .map(let fields) = try JSON.parse(line) { body(fields) }
    }
    while let piece = try source.next() { try lines.append(piece.span.bytes, take) }
    try lines.finish(take)
  }

  func observe() async throws {
    title(2, "The phone observes its flights. The tablet changes two of them.")
    try await phone.ask(
      "observe", ["name": .string("late"), "collection": .string("flights"), "query": .string(Self.interest)])
    let rows = try await phone.execute(Self.interestSQL + " ORDER BY _id LIMIT 2")
    guard rows.count == 2, let later = rows[0]["_id"], let early = rows[1]["_id"] else {
      throw ToolError("the phone has too few flights")
    }
    _ = try await eventually { !phone.takeEvents("diff").isEmpty }
    let start = ContinuousClock.now
    _ = try await tablet.execute("UPDATE flights SET dep_delay = 333 WHERE _id = :id", ["id": later])
    let updated = try await nextDiff("updates", later)
    let time = (ContinuousClock.now - start).seconds
    say(
      "\(later.text) is delayed to 333 minutes at the tablet: an update in the phone's diff, "
        + String(format: "%.0f ms after the command, through the cloud.", time * 1000))
    _ = try await tablet.execute("UPDATE flights SET dep_delay = 5 WHERE _id = :id", ["id": early])
    let left = try await nextDiff("deletions", early)
    say("\(early.text) makes up its delay: it leaves the query's result, and the phone's diff says so.")
    report.check("phone", "an update in the diff", expected: true, found: updated)
    report.check("phone", "a flight leaves the result in the diff", expected: true, found: left)
  }

  /// Waits for a diff that names a document under `part`.
  private func nextDiff(_ part: String, _ id: Value) async throws -> Bool {
    try await eventually(within: .seconds(20)) {
      phone.takeEvents("diff").contains { event in
        guard case .array(let ids)? = event[part] else { return false }
        return ids.contains(id)
      }
    }
  }
}

extension Value {
  /// A string as it is, anything else as JSON.
  var text: String { if case .string(let text) = self { text } else { JSON.text(of: self) } }
}
