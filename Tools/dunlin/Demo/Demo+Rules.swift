import CRDTCore
import Foundation
import PeerControl

/// Step 4: scopes; step 5: transactions; step 6: sizes.
extension Demo {
  func scopes() async throws {
    title(4, "Scopes: who may get a collection. All three peers subscribe to all of them.")
    for number in 1...3 {
      try await insert(tablet, "crew_notes", ["_id": .int(Int64(number)), "text": .string("note \(number)")])
    }
    for number in 1...2 {
      try await insert(tablet, "audit", ["_id": .int(Int64(number)), "event": .string("login")])
    }
    try await insert(tablet, "drafts", ["_id": .string("d"), "text": .string("not ready")])
    // What was written after them has arrived, so what has not arrived by then does not come.
    try await passMarker("before the direct link")
    report.check(
      "phone", "crew_notes, through the cloud", expected: 0, found: try await count(phone, "crew_notes"))
    say("Now the phone connects to the tablet as well: a device beside a device.")
    try await phone.ask("connect", ["port": .int(try await port(tablet))])
    _ = try await eventually(within: .seconds(20)) { try await count(phone, "crew_notes") == 3 }
    try await passMarker("after the direct link")
    let expected = [
      ("crew_notes", "SmallPeersOnly", [3, 3, 0]), ("audit", "BigPeerOnly", [2, 0, 2]),
      ("drafts", "LocalPeerOnly", [1, 0, 0]),
    ]
    for (collection, scope, counts) in expected {
      var found: [Int] = []
      for (peer, wanted) in zip(everybody, counts) {
        found.append(try await count(peer, collection))
        report.check(peer.name, "\(collection) (\(scope))", expected: wanted, found: found.last ?? 0)
      }
      let name = collection.padding(toLength: 11, withPad: " ", startingAt: 0)
      let rule = scope.padding(toLength: 15, withPad: " ", startingAt: 0)
      say("\(name) \(rule) tablet \(found[0])   phone \(found[1])   cloud \(found[2])")
    }
  }

  private func passMarker(_ text: String) async throws {
    try await insert(tablet, "markers", ["_id": .string(text)])
    for peer in [cloud, phone] {
      guard try await eventually({ try await row(peer, "markers", .string(text)) != nil }) else {
        throw ToolError("\(peer.name) did not receive a marker")
      }
    }
  }

  func transaction() async throws {
    title(5, "One transaction over two collections: the phone sees both documents or none.")
    try await phone.ask(
      "watch",
      [
        "documents": .array([
          .map(["collection": .string("gates"), "_id": .string("B22")]),
          .map(["collection": .string("turnarounds"), "_id": .string("T1")]),
        ])
      ])
    let statement = { (collection: String, fields: [TextKey: Value]) -> Value in
      .map([
        "query": .string("INSERT INTO \(collection) DOCUMENTS (:d)"), "arguments": .map(["d": .map(fields)]),
      ])
    }
    try await tablet.ask(
      "transaction",
      [
        "statements": .array([
          statement("gates", ["_id": .string("B22"), "state": .string("taken")]),
          statement("turnarounds", ["_id": .string("T1"), "gate": .string("B22"), "minutes": .int(45)]),
        ])
      ])
    var states: Set<[Value]> = []
    let arrived = try await eventually {
      for event in phone.takeEvents("seen") {
        if case .array(let seen)? = event["documents"] { states.insert(seen) }
      }
      return states.contains([.bool(true), .bool(true)])
    }
    let torn = states.filter { Set($0).count > 1 }.count
    report.check("phone", "both documents arrive", expected: true, found: arrived)
    report.check("phone", "commits that show only one of them", expected: 0, found: torn)
    say("After every commit at the phone: both there, or neither. Never one alone.")
  }

  func sizes() async throws {
    title(6, "Sizes: above 250 KB a warning, above 5 MB a document stays at home.")
    try await insert(tablet, "manuals", ["_id": .string("short"), "text": .string("Read me first.")])
    try await insert(tablet, "manuals", ["_id": .string("long"), "text": .string(Prose.text(300_000))])
    try await insert(tablet, "manuals", ["_id": .string("endless"), "text": .string(Prose.text(5_100_000))])
    try await insert(tablet, "manuals", ["_id": .string("last"), "text": .string("Still syncing.")])
    for peer in [cloud, phone] {
      _ = try await eventually { try await count(peer, "manuals") >= 3 }
      let ids = try await peer.execute("SELECT _id FROM manuals ORDER BY _id").compactMap { $0["_id"]?.text }
      report.check(peer.name, "manuals", expected: ["last", "long", "short"], found: ids)
    }
    report.check("tablet", "manuals", expected: 4, found: try await count(tablet, "manuals"))
    let warnings = tablet.log.filter { $0.contains("manuals") }
    report.check("tablet", "a warning above 250 KB", expected: true, found: !warnings.isEmpty)
    let oversize = try await tablet.ask("oversize").list("documents").map { $0["_id"]?.text ?? "" }
    report.check("tablet", "reported as too large to send", expected: ["endless"], found: oversize)
    for warning in warnings { say("tablet says: \(warning)") }
    say("The others have the manuals of 14 bytes and 300 KB; that of 5.1 MB is only at the tablet.")
  }
}
