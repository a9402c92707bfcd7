import CRDTCore
import DocStore
import SyncProtocol
import TestKit
import Testing

/// Transactions from before a peer connects: what belongs together comes together, and soon.
@Suite struct TransactionClosuresTests {
  @Test func `documents flow before the receiver has asked all`() throws {
    let network = TestNetwork()
    let (a, b) = (try network.addPeer("a"), try network.addPeer("b"))
    for batch in 0..<20 {
      try a.write { transaction in
        for number in batch * 50..<batch * 50 + 50 {
          try transaction.upsert(["n": .int(1)], id: try DocumentID("d\(number)"), into: "things")
        }
      }
    }
    try a.put("loose", ["n": .int(1)])
    try b.subscribe("SELECT * FROM things")
    network.onSend = { end, bytes in
      // The link takes nothing from the receiver after its first question.
      if end.peer === b, FrameType(of: bytes) == .compare { end.bytesUntilCut = 0 }
    }
    // Sessions hear of later commits only.
    try a.distribute()
    try network.connect(a, b)
    try network.settle()
    #expect(try b.documents().count == 1_001)
  }

  @Test(arguments: 1...10 as ClosedRange<UInt64>, [1 << 20, 16])
  func `transactions that overlap arrive whole, over collections and with what follows`(
    seed: UInt64, limit: Int
  ) throws {
    var random = SeededGenerator(seed: seed)
    let network = TestNetwork(seed: seed)
    network.configure = {
      $0.initialWindowBytes = 8 << 10
      $0.tuning.transactionRuns = limit
      $0.tuning.calls.records = Int(seed)
    }
    let (a, b) = (try network.addPeer("a"), try network.addPeer("b"))
    try b.subscribe("SELECT * FROM things", "SELECT * FROM others")
    var members: [String: Set<String>] = [:]
    func transaction() throws {
      let mark = "t\(members.count)"
      let names = Set(
        (0..<1 + random.int(below: 5)).map { _ in
          "\(random.oneIn(3) ? "others" : "things")/d\(random.int(below: 60))"
        })
      members[mark] = names
      try a.write { transaction in
        for name in names.sorted() {
          let parts = name.split(separator: "/").map(String.init)
          try transaction.upsert([TextKey(mark): .int(1)], id: try DocumentID(parts[1]), into: parts[0])
        }
      }
    }
    for _ in 0..<40 { try transaction() }
    var evicted: Set<String> = []
    for number in 0..<60 where random.oneIn(12) {
      try a.evict("d\(number)")
      evicted.insert("things/d\(number)")
    }
    var torn: [String] = []
    b.onCommit = { [unowned b] _ in
      let here: [String: [TextKey: Value]] = try ["things", "others"].reduce(into: [:]) { all, collection in
        for (id, fields) in try b.documents(in: collection) { all["\(collection)/\(id)"] = fields }
      }
      for (mark, names) in members {
        let concerned = names.subtracting(evicted)
        let seen = concerned.filter { here[$0]?[mark] != nil }
        if !seen.isEmpty, seen.count < concerned.count { torn.append("\(mark): \(seen) of \(concerned)") }
      }
    }
    // Sessions hear of later commits only.
    try a.distribute()
    try network.connect(a, b)
    for _ in 0..<12 {
      try network.run(steps: random.int(below: 6))
      try transaction()
    }
    try network.settle()
    #expect(try b.documents() == a.documents())
    #expect(try b.documents(in: "others") == a.documents(in: "others"))
    #expect(try network.debts().isEmpty)
    let isForgotten = network.endpoints.contains { end in
      end.events.contains { if case .groupsForgotten = $0 { true } else { false } }
    }
    #expect(isForgotten == (limit == 16))
    if !isForgotten { #expect(torn.isEmpty, "\(torn.prefix(4))") }
  }

  /// The transaction that binds them all comes between their being compared and their being sent.
  @Test func `what is wanted and bound together goes out together`() throws {
    let count = 40
    var most: UInt64 = 0
    for steps in 0..<40 {
      let network = TestNetwork(seed: UInt64(steps))
      network.configure = {
        // When they meet again all is compared.
        $0.tuning.walkedDocuments = 0
        $0.initialWindowBytes = 4 << 10
        $0.tuning.calls.bytes = 1 << 10
      }
      let (a, b) = (try network.addPeer("a"), try network.addPeer("b"))
      try b.subscribe("SELECT * FROM things")
      for number in 0..<count { try a.put("d\(number)", ["n": .int(1)]) }
      let (first, _) = try network.connect(a, b)
      try network.settle()
      network.cut(first)
      for number in 0..<count { try a.put("d\(number)", ["n": .int(2)]) }
      try a.distribute()
      let (end, _) = try network.connect(a, b)
      try network.run(steps: steps)
      try a.write { transaction in
        for number in 0..<count {
          try transaction.upsert(["m": .int(1)], id: try DocumentID("d\(number)"), into: "things")
        }
      }
      try network.settle()
      try expectEqual(b.documents(), a.documents(), "after \(steps) steps")
      most = max(most, end.session.statistics.documentsSent)
    }
    #expect(most <= UInt64(4 * count), "\(most) documents were sent")
  }

  @Test func `an import in batches takes a run a batch, and one transaction over them one component`() throws
  {
    let network = TestNetwork()
    let a = try network.addPeer("a")
    for batch in 0..<8 {
      try a.write { transaction in
        for number in 0..<25 {
          try transaction.upsert(["n": .int(1)], id: try DocumentID("\(batch)-\(number)"), into: "things")
        }
      }
    }
    func runs() throws -> [Int] {
      try a.store.read { transaction in
        var counts: [Int] = []
        try transaction.transactionRuns(after: 0) { _, runs in
          counts.append(runs.count)
          return true
        }
        return counts
      }
    }
    #expect(try runs() == Array(repeating: 1, count: 8))
    try a.write { transaction in
      for batch in 0..<8 {
        try transaction.upsert(["n": .int(2)], id: try DocumentID("\(batch)-7"), into: "things")
      }
    }
    #expect(try runs().last == 8)
    let b = try network.addPeer("b")
    try b.subscribe("SELECT * FROM things")
    // Sessions hear of later commits only.
    try a.distribute()
    try network.connect(a, b)
    var commits: [Int] = []
    b.onCommit = { commits.append($0.changes.count) }
    try network.settle()
    #expect(commits == [200])
  }
}
