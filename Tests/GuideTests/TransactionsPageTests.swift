import DunlinKit
import DunlinTesting
import Testing

/// The code of the page on transactions.
@Suite(.timeLimit(.minutes(15))) struct TransactionsPageTests {
  private struct MealIsGone: Error {}

  let database: TestDatabase
  var dunlin: Dunlin { database.dunlin }
  var store: DunlinStore { dunlin.store }

  init() throws { database = try TestDatabase() }

  private func insert(stock: Int) async throws {
    try await store["meals"].upsert(["_id": "pasta", "stock": DunlinCounter(stock)])
  }

  private func write() async throws {
    try await store.write { tx in
      try tx["orders"].upsert(["_id": "o1", "seat": "12A", "meal": "pasta"])
      try tx["meals"].findByID("pasta").update { meal in
        guard let meal else { throw MealIsGone() }
        meal["stock"].counter?.increment(by: -1)
      }
    }
  }

  private func order() async throws -> DunlinTransactionCompletionAction {
    let outcome = try await store.transaction(hint: "second order") { tx in
      let meal = try await tx["meals"].findByID("pasta").exec()
      guard let meal, meal["stock"].intValue > 0 else { return .rollback }
      try await tx["orders"].upsert(["_id": "o2", "seat": "14C", "meal": "pasta"])
      try await tx.execute(query: "UPDATE meals APPLY stock INCREMENT BY -1 WHERE _id = 'pasta'")
      return .commit
    }
    return outcome
  }

  @Test func `a write takes effect as a whole or not at all`() async throws {
    await #expect(throws: MealIsGone.self) { try await write() }
    #expect(try store["orders"].findAll().count() == 0)
    try await insert(stock: 2)
    try await write()
    #expect(try store["orders"].findAll().count() == 1)
    #expect(try store["meals"].findByID("pasta").exec()?["stock"].int == 1)
  }

  @Test func `a transaction that awaits commits or rolls back`() async throws {
    try await insert(stock: 1)
    #expect(try await order() == .commit)
    #expect(try await order() == .rollback)
    #expect(try store["orders"].findAll().count() == 1)
    #expect(try store["meals"].findByID("pasta").exec()?["stock"].int == 0)
  }

  @Test func `a read is of one moment and writes nothing`() async throws {
    try await insert(stock: 3)
    try await write()
    let (orders, pasta) = try await store.read { tx in
      (try tx["orders"].find("meal == 'pasta'").count(), try tx["meals"].findByID("pasta").exec())
    }
    #expect(orders == 1)
    #expect(pasta?["stock"].int == 2)
    let error = await #expect(throws: DunlinError.self) {
      try await store.read { tx in _ = try tx.execute(query: "DELETE FROM orders") }
    }
    #expect(error?.code == .readOnlyTransaction)
  }

  @Test func `a write inside a transaction is refused at once`() throws {
    do {
      try store.write { _ in try store["orders"].upsert(["_id": "o3"]) }
    } catch let error as DunlinError where error.code == .nestedWriteTransaction {
      print("Write through the closure's parameter")
    }
    #expect(throws: DunlinError.self) {
      try store.write { _ in try store["orders"].upsert(["_id": "o3"]) }
    }
    #expect(try store["orders"].findAll().count() == 0)
  }

  @Test func `removing and upserting one document is refused`() async throws {
    try await store["orders"].upsert(["_id": "o1"])
    let error = await #expect(throws: DunlinError.self) {
      try await store.write { tx in
        try tx["orders"].findByID("o1").remove()
        try tx["orders"].upsert(["_id": "o1"])
      }
    }
    #expect(error?.code == .removedInTransaction)
    #expect(try store["orders"].findAll().count() == 1)
  }

  @Test func `a commit tells when it has arrived`() async throws {
    let galley = try TestDatabase("galley")
    let subscription = try galley.dunlin.sync.registerSubscription(query: "SELECT * FROM orders")
    try database.connect(to: galley)
    let order = try await store.commit { tx in
      try tx["orders"].upsert(["_id": "o4", "seat": "1A", "meal": "fish"])
    }
    try await dunlin.sync.waitUntilArrived(order.id, at: .anyPeer, timeout: .seconds(10))
    #expect(order.value == "o4")
    #expect(try galley.dunlin.store["orders"].findAll().count() == 1)
    subscription.cancel()
  }
}
