import CRDTCore
import PeerControl

/// Step 3: changes apart from each other, and how they merge.
extension Demo {
  func merge() async throws {
    title(3, "Tablet and phone are cut off. Both change the same flight; then they meet again.")
    let rows = try await phone.execute(Self.interestSQL + " ORDER BY _id DESC LIMIT 2")
    guard rows.count == 2, let shared = rows[0]["_id"], let doomed = rows[1]["_id"] else {
      throw ToolError("the phone has too few flights")
    }
    await collectTraffic()
    for peer in [tablet, phone] { try await peer.ask("stop") }
    let update = "UPDATE flights APPLY bags INCREMENT BY :bags SET remark = :remark"
    _ = try await tablet.execute(
      update + ", gate = 'B22' WHERE _id = :id",
      ["bags": .int(3), "remark": .string("crew is late"), "id": shared])
    _ = try await tablet.execute("DELETE FROM flights WHERE _id = :id", ["id": doomed])
    _ = try await phone.execute(
      update + ", status = 'boarding' WHERE _id = :id",
      ["bags": .int(4), "remark": .string("crew is here"), "id": shared])
    _ = try await phone.execute("UPDATE flights SET status = 'boarding' WHERE _id = :id", ["id": doomed])
    for peer in [tablet, phone] { try await peer.ask("start") }
    let expected: [TextKey: Value] = [
      "gate": .string("B22"), "status": .string("boarding"), "remark": .string("crew is here"),
      "bags": .int(7),
    ]
    func seen(_ peer: ChildPeer) async throws -> [TextKey: Value] {
      let fields = try await row(peer, "flights", shared) ?? [:]
      return fields.filter { expected[$0.key] != nil }.mapValues {
        if case .counter(let sum) = $0 { .int(sum) } else { $0 }
      }
    }
    _ = try await eventually {
      for peer in everybody {
        guard try await seen(peer) == expected, try await row(peer, "flights", doomed) == nil else {
          return false
        }
      }
      return true
    }
    for peer in everybody {
      let found = JSON.text(of: .map(try await seen(peer)))
      report.check(
        peer.name, "the flight both changed", expected: JSON.text(of: .map(expected)), found: found)
      let isGone = try await row(peer, "flights", doomed) == nil
      report.check(
        peer.name, "the flight that was deleted", expected: "gone", found: isGone ? "gone" : "there")
    }
    let all = try await digest(tablet, "flights", "true")
    report.check(
      "cloud", "flights, as at the tablet", expected: all, found: try await digest(cloud, "flights", "true"))
    let late = try await digest(tablet, "flights", Self.interest)
    report.check(
      "phone", "late flights, as at the tablet", expected: late,
      found: try await digest(phone, "flights", Self.interest))
    say("\(shared.text), the same at all three:")
    say("  gate B22, status boarding  one set by each: fields merge one by one")
    say("  remark \"crew is here\"      set by both: the later write wins")
    say("  bags 7                     a counter: 3 and 4 add up")
    say(
      "\(doomed.text) is gone: the tablet deleted it, and a delete beats an update that did not know of it.")
  }
}
