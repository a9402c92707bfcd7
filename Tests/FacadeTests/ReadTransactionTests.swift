import DunlinKit
import Logging
import TestKit
import Testing

/// Transactions that read, hints, commits and rollbacks.
@Suite(.timeLimit(.minutes(15))) struct ReadTransactionTests {
  let peer: Peer
  var store: DunlinStore { peer.store }

  init() throws {
    peer = try Peer()
    try peer.store["bikes"].upsert(["_id": "b1", "km": 1])
  }

  struct Bike: Codable { var km: Int }

  @Test func `a read transaction is of one moment`() throws {
    let found = try store.read { tx in
      let before = try tx["bikes"].findByID("b1").exec()?["km"].int
      // A write of its own, which the snapshot does not see.
      try store["bikes"].upsert(["_id": "b1", "km": 2])
      try store["bikes"].upsert(["_id": "b2", "km": 3])
      let bikes = tx["bikes"]
      #expect(try bikes.findAll().count() == 1)
      #expect(try bikes.find("km < $args.km", args: ["km": 9]).first()?.id == "b1")
      #expect(try bikes.find("km < $args.km", args: Bike(km: 9)).exec(as: Bike.self).map(\.km) == [1])
      #expect(try bikes.findAll().sort("km").offset(0).limit(3).first(as: Bike.self)?.km == 1)
      #expect(try bikes.findByID("b2").exec() == nil)
      #expect(try bikes.findByID("b1").exec(as: Bike.self)?.km == 1)
      let rows = try tx.execute(query: "SELECT km FROM bikes WHERE km > :k", arguments: ["k": 0])
      #expect(rows.items.map { $0["km"].int } == [1])
      #expect(try tx.commitID() == 1)
      return before
    }
    #expect(found == 1)
    #expect(try store.read { try $0["bikes"].findAll().count() } == 2)
  }

  @Test func `it can be awaited, and awaits`() async throws {
    let store = store
    let count = try await store.read { try $0["bikes"].findAll().count() }
    #expect(count == 1)
    let counts = try await store.transaction(isReadOnly: true) { tx in
      let before = try await tx["bikes"].findAll().count()
      try await store["bikes"].upsert(["_id": "b2", "km": 3])
      let after = try await tx.execute(query: "SELECT COUNT(*) AS n FROM bikes").items[0]["n"].intValue
      #expect(try await tx["bikes"].findByID("b2").exec() == nil)
      #expect(try await tx["bikes"].findByID("b1").exec(as: Bike.self)?.km == 1)
      #expect(try await tx["bikes"].findAll().sort("km").first(as: Bike.self)?.km == 1)
      return [before, after]
    }
    #expect(counts == [1, 1])
    #expect(try store["bikes"].findAll().count() == 2)
  }

  @Test(arguments: [
    "INSERT INTO bikes DOCUMENTS ({'_id': 'b2'})", "UPDATE bikes SET km = 7", "DELETE FROM bikes",
    "EVICT FROM bikes", "CREATE INDEX i ON bikes (km)", "ALTER SYSTEM SET DQL_STRICT_TYPES = true",
    "PROFILE DELETE FROM bikes",
  ])
  func `a statement that writes is an error and writes nothing`(statement: String) async throws {
    let sync = #expect(throws: DunlinError.self) {
      try store.blocking { store in try store.read(hint: "report") { try $0.execute(query: statement) } }
    }
    let awaited = await #expect(throws: DunlinError.self) {
      try await store.transaction(hint: "report", isReadOnly: true) { try await $0.execute(query: statement) }
    }
    for error in [sync, awaited] {
      expectEqual(error?.code, .readOnlyTransaction)
      expectEqual(error?.message.contains("read-only"), true)
      expectEqual(error?.context["transaction"], "report")
    }
    #expect(try store.statistics().sequence == 1)
    #expect(
      try await store.execute(query: "SHOW DQL_STRICT_TYPES").items[0]["dql_strict_types"].bool == false)
  }

  @Test func `builder calls that write are refused in a read-only transaction`() async throws {
    let codes = try await store.transaction(isReadOnly: true) { tx in
      let calls: [() async throws -> Void] = [
        { try await tx["bikes"].upsert(["_id": "b2"]) }, { try await tx["bikes"].save(["_id": "b2"]) },
        { try await tx["bikes"].findAll().update { _ in } }, { try await tx["bikes"].findAll().remove() },
        { try await tx["bikes"].findAll().evict() }, { try await tx["bikes"].findByID("b1").update { _ in } },
        { try await tx["bikes"].findByID("b1").remove() }, { try await tx["bikes"].findByID("b1").evict() },
      ]
      var codes: [DunlinError.Code?] = []
      for call in calls {
        do {
          try await call()
          codes.append(nil)
        } catch {
          codes.append((error as? DunlinError)?.code)
        }
      }
      return codes
    }
    #expect(codes == Array(repeating: .readOnlyTransaction, count: 8))
    #expect(try store.statistics().sequence == 1)
  }

  @Test func `what escapes of a transaction finds it over`() async throws {
    var escaped: DunlinReadTransaction?
    try store.blocking { store in try store.read { escaped = $0 } }
    let error = #expect(throws: DunlinError.self) { try escaped?["bikes"].findAll().exec() }
    #expect(error?.code == .closed)
    let awaited = try await store.transaction(isReadOnly: true) { $0 }
    let late = await #expect(throws: DunlinError.self) { try await awaited["bikes"].findAll().exec() }
    #expect(late?.code == .closed)
  }

  @Test func `errors of a body leave as they are`() async throws {
    struct Stop: Error {}
    #expect(throws: Stop.self) { try store.blocking { store in try store.read { _ in throw Stop() } } }
    await #expect(throws: Stop.self) { try await store.transaction(isReadOnly: true) { _ in throw Stop() } }
    await #expect(throws: CancellationError.self) {
      try await Task { [store] in
        withUnsafeCurrentTask { $0?.cancel() }
        try await store.read { _ in }
      }.value
    }
    try peer.dunlin.close()
    let sync = #expect(throws: DunlinError.self) { try store.blocking { store in try store.read { _ in } } }
    let awaited = await #expect(throws: DunlinError.self) {
      try await store.transaction(isReadOnly: true) { tx in try await tx["bikes"].findAll().count() }
    }
    #expect(sync?.code == .closed && awaited?.code == .closed)
  }

  @Test func `a commit has its number`() async throws {
    let first = try store.blocking { store in
      try store.commit(hint: "first") { try $0["bikes"].upsert(["_id": "b2", "km": 2]) }
    }
    #expect(first.value == "b2" && first.id == 2 && first.oversizeDocumentIDs.isEmpty)
    let nothing = try await store.commit { try $0["bikes"].findAll().count() }
    #expect(nothing.value == 2 && nothing.id == nil)
    let third = try await store.commitTransaction { tx in
      try await tx["bikes"].findByID("b2").remove()
      return try await tx.execute(query: "UPDATE bikes SET km = 5").mutatedDocumentIDs
    }
    #expect(third.value == ["b1"] && third.id == 3)
    #expect(try store.statistics().sequence == 3)
  }

  @Test func `a body commits or rolls back as it says`() async throws {
    let undone = try store.blocking { store in
      try store.write { tx in
        try tx["bikes"].upsert(["_id": "b2"])
        return .rollback
      }
    }
    #expect(undone == .rollback)
    let awaited = try await store.write { tx in
      try tx["bikes"].upsert(["_id": "b2"])
      return try tx["bikes"].findAll().count() > 1 ? .rollback : .commit
    }
    #expect(awaited == .rollback)
    let transaction = try await store.transaction { tx in
      try await tx["bikes"].upsert(["_id": "b2"])
      return .rollback
    }
    #expect(transaction == .rollback)
    #expect(try store["bikes"].findAll().count() == 1)
    #expect(try store.statistics().sequence == 1)
    try await store.write { tx in
      try tx["bikes"].upsert(["_id": "b2"])
      return .commit
    }
    try await store.transaction(hint: "third") { tx in
      try await tx["bikes"].upsert(["_id": "b3"])
      return .commit
    }
    #expect(try store["bikes"].findAll().count() == 3)
  }

  @Test func `DQL runs in a write transaction, which goes on where a statement fails`() throws {
    try store.blocking { store in
      let insert = try store.prepare(query: "INSERT INTO bikes DOCUMENTS ({'_id': :id, 'km': :km})")
      try store.write { tx in
        try tx.execute(insert, arguments: ["id": "b2", "km": 2])
        let error = #expect(throws: DunlinError.self) {
          try tx.execute(insert, arguments: ["id": "b2", "km": 2])
        }
        #expect(error?.code == .conflict)
        #expect(try tx["bikes"].findAll().count() == 2)
        #expect(try tx.execute(query: "SELECT * FROM bikes WHERE km > 1", as: Bike.self).map(\.km) == [2])
        #expect(throws: DunlinError.self) { try tx.execute(query: "SELECT") }
      }
    }
    #expect(try store["bikes"].findAll().count() == 2)
  }

  @Test(arguments: [false, true])
  func `a transaction that is idle for too long ends, and is called by its hint`(isReadOnly: Bool)
    async throws
  {
    let directory = try TemporaryDirectory()
    var configuration = DunlinConfiguration(logger: peer.log.logger)
    configuration.transactionDeadline = .milliseconds(1)
    let dunlin = try Dunlin(
      path: directory.file("db"), identity: .unsafeDevelopment(appID: "tests"), configuration: configuration)
    let error = await #expect(throws: DunlinError.self) {
      try await dunlin.store.transaction(hint: "nightly import", isReadOnly: isReadOnly) { tx in
        while true {
          try await Task.sleep(for: .milliseconds(20))
          try await tx.execute(query: "SELECT * FROM bikes")
        }
      }
    }
    #expect(error?.code == .deadline && error?.message.contains("'nightly import'") == true)
    try dunlin.close()
  }
}
