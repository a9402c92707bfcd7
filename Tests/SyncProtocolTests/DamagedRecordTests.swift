import CRDTCore
import DocStore
import Failpoints
import SyncProtocol
import TestKit
import Testing

/// Records that rot in the file of a peer: they stay there, and everything else flows.
@Suite struct DamagedRecordTests {
  private static let query = "SELECT * FROM things"

  /// A peer with documents of which one is damaged in its text, and an empty one that wants them.
  private func peers(
    transactions: [[String]], damaged: String = "d3"
  ) throws -> (TestNetwork, TestPeer, TestPeer) {
    let network = TestNetwork()
    let (a, b) = (try network.addPeer("a"), try network.addPeer("b"))
    for ids in transactions {
      try a.write { transaction in
        for id in ids {
          try transaction.upsert(
            ["text": .string("the words of \(id).")], id: try DocumentID(id), into: "things")
        }
      }
    }
    // Sessions hear of later commits only.
    try a.distribute()
    #expect(try a.damage("the words of \(damaged).", by: "The words of \(damaged).") >= 1)
    try b.subscribe(Self.query)
    return (network, a, b)
  }

  private func told(_ end: Endpoint) throws -> [DocumentID?] {
    end.events.compactMap { if case .damaged("things", let id) = $0 { .some(id) } else { nil } }
  }

  @Test(arguments: [
    (1...40).map { ["d\($0)"] }, [(1...40).map { "d\($0)" }],
    [["d1", "d2"], ["d2", "d3"], ["d4", "d5"], ["d6"]],
  ])
  func `is passed over, and told of once`(transactions: [[String]]) throws {
    let (network, a, b) = try peers(transactions: transactions)
    let (end, other) = try network.connect(a, b)
    try network.settle()
    let all = Set(transactions.joined())
    #expect(try Set(b.documents().keys) == all.subtracting(["d3"]))
    #expect(try told(end) == [try DocumentID("d3")])
    // Nor does either take the other, or itself, for one that has all.
    #expect(other.caughtUp == nil && !other.session.progress.isCaughtUp)
    #expect(other.session.progress.isPeerUnreadable && end.session.progress.damagedDocuments == 1)
    #expect(end.session.progress.confirmedSequence == nil)
    #expect(network.endpoints.allSatisfy { $0.closed == nil })
  }

  @Test func `costs a comparison when the peers meet again`() throws {
    let (network, a, b) = try peers(transactions: (1...200).map { ["d\($0)"] })
    var sent: [Int] = []
    for _ in 0..<3 {
      let (end, other) = try network.connect(a, b)
      try network.settle()
      expect(network.endpoints.allSatisfy { $0.closed == nil })
      expect(other.caughtUp == nil)
      sent.append(end.sentBytes + other.sentBytes)
      network.cut(end)
    }
    #expect(sent[1] == sent[2] && sent[1] < 500)
    #expect(try b.documents().count == 199)
  }

  @Test func `that is asked for is not sent, and the session goes on`() throws {
    let network = TestNetwork()
    let (a, b) = (try network.addPeer("a"), try network.addPeer("b"))
    for number in 0..<40 { try a.put("d\(number)", ["text": .string("the words of d\(number).")]) }
    try b.subscribe(Self.query)
    let (first, _) = try network.connect(a, b)
    try network.settle()
    network.cut(first)
    // Both have it; here it was written again, and then damaged.
    try a.put("d3", ["text": .string("new words of d3.")])
    try a.put("d5", ["text": .string("new words of d5")])
    try a.distribute()
    #expect(try a.damage("new words of d3.", by: "New words of d3.") >= 1)
    let (end, _) = try network.connect(a, b)
    try network.settle()
    #expect(try b.document("d3")?["text"] == .string("the words of d3."))
    #expect(try b.document("d5")?["text"] == .string("new words of d5"))
    #expect(try told(end) == [try DocumentID("d3")])
    #expect(network.endpoints.allSatisfy { $0.closed == nil })
    try a.put("d6", ["text": .string("live")])
    try network.settle()
    #expect(try b.document("d6")?["text"] == .string("live"))
  }

  @Test(arguments: [["d3"], ["d2", "d3", "d4"], (1...12).map { "d\($0)" }])
  func `is passed over by what others change, and the rest of the transaction comes`(ids: [String]) throws {
    let network = TestNetwork()
    let (a, b) = (try network.addPeer("a"), try network.addPeer("b"))
    for number in 1...40 {
      try a.put("d\(number)", ["text": .string("the words of d\(number)."), "n": .int(0)])
    }
    try b.subscribe(Self.query)
    let (_, end) = try network.connect(a, b)
    try network.settle()
    #expect(try b.damage("the words of d3.", by: "The words of d3.") >= 1)
    for round in 1...3 {
      try a.write { transaction in
        for id in ids {
          try transaction.update(try DocumentID(id), in: "things", [.set(["n"], .int(Int64(round)))])
        }
      }
      try network.settle()
      for id in ids where id != "d3" { try expectEqual(b.document(id)?["n"], .int(Int64(round))) }
    }
    #expect(throws: StoreError.self) { try b.document("d3") }
    #expect(try told(end) == [try DocumentID("d3")])
    #expect(network.endpoints.allSatisfy { $0.closed == nil })
    // Nor does it keep the peers from meeting again.
    network.cut(end)
    let (whole, damaged) = try network.connect(a, b)
    try a.put("d41", ["text": .string("new")])
    try network.settle()
    #expect(network.endpoints.allSatisfy { $0.closed == nil })
    #expect(try b.document("d41") != nil)
    #expect(damaged.caughtUp == nil && whole.session.progress.confirmedSequence == nil)
    // Once b has evicted the document, a sends it again, and b is caught up.
    network.cut(damaged)
    try b.write { _ = try $0.evict(try DocumentID("d3"), in: "things") }
    let (_, last) = try network.connect(a, b)
    try network.settle()
    #expect(try b.document("d3")?["text"] == .string("the words of d3."))
    #expect(last.caughtUp != nil && last.session.progress.damagedDocuments == 0)
  }

  @Test func `would be sent without the check`() throws {
    try FailpointPlan(planting: [StoreDefect.damagedRecordSent]).run {
      let (network, a, b) = try peers(transactions: (1...40).map { ["d\($0)"] })
      try network.connect(a, b)
      try network.settle()
      #expect(try b.document("d3")?["text"] == .string("The words of d3."))
    }
  }
}
