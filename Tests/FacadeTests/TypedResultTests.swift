import DunlinKit
import Foundation
import TestKit
import Testing

/// Results come as types of the application's, and arguments go in as such.
@Suite struct TypedResultTests {
  enum Color: String, Codable { case red, blue }

  struct Car: Codable, Equatable {
    let _id: String
    var color: Color
    var mileage: Int
  }

  struct Wanted: Encodable {
    var color: Color
    var least: Int?
  }

  private let peer: Peer
  private let cars = [
    Car(_id: "a", color: .red, mileage: 1), Car(_id: "b", color: .blue, mileage: 2),
    Car(_id: "c", color: .red, mileage: 3),
  ]
  private let red = "SELECT * FROM cars WHERE color = :color ORDER BY _id"

  init() throws {
    peer = try Peer()
    for car in cars { try peer.store["cars"].upsert(car) }
  }

  private var reds: [Car] { cars.filter { $0.color == .red } }

  @Test func `a statement answers with a type, awaited and not`() async throws {
    #expect(try await peer.store.execute(query: red, arguments: ["color": Color.red], as: Car.self) == reds)
    #expect(try await peer.store.execute(query: red, arguments: Wanted(color: .red), as: Car.self) == reds)
    #expect(try await peer.store.execute(query: red, arguments: Wanted(color: .red)).items.count == 2)
    let result = try await peer.store.execute(query: red, arguments: ["color": "red"])
    #expect(try result.decoded(as: Car.self) == reds)
    let statement = try peer.store.prepare(query: red)
    #expect(try await statement.execute(arguments: ["color": Color.red], as: Car.self) == reds)
    #expect(try await statement.execute(arguments: Wanted(color: .red), as: Car.self) == reds)
    try blocking(statement)
  }

  private func blocking(_ statement: DunlinPreparedStatement) throws {
    #expect(try peer.store.execute(query: red, arguments: ["color": Color.red], as: Car.self) == reds)
    #expect(try peer.store.execute(query: red, arguments: Wanted(color: .red), as: Car.self) == reds)
    #expect(try peer.store.execute(query: red, arguments: Wanted(color: .red)).items.count == 2)
    #expect(try statement.execute(arguments: ["color": "red"], as: Car.self) == reds)
    #expect(try statement.execute(arguments: Wanted(color: .red), as: Car.self) == reds)
    #expect(try statement.execute(arguments: Wanted(color: .red)).items.count == 2)
    let (store, one) = (peer.store, ["color": Color.red])
    let wanted = Wanted(color: .red)
    let results = [
      try store.execute(query: red, arguments: one, as: Car.self, unfit: .leaveOut),
      try store.execute(query: red, arguments: wanted, as: Car.self, unfit: .fail),
      try statement.execute(arguments: one, as: Car.self, unfit: .leaveOut),
      try statement.execute(arguments: wanted, as: Car.self, unfit: .fail),
    ]
    #expect(results.allSatisfy { $0.items == reds && $0.unfit.isEmpty && $0.commitID == nil })
  }

  @Test func `a transaction's statements answer with a type, of what it wrote`() async throws {
    let new = Car(_id: "d", color: .red, mileage: 4)
    try await peer.store.transaction { [red, reds] tx in
      struct Insert: Encodable { var car: Car }
      try await tx.execute(query: "INSERT INTO cars DOCUMENTS (:car)", arguments: Insert(car: new))
      #expect(try await tx.execute(query: red, arguments: ["color": Color.red], as: Car.self) == reds + [new])
      let statement = try peer.store.prepare(query: red)
      let found = try await tx.execute(statement, arguments: Wanted(color: .red), as: Car.self)
      #expect(found == reds + [new])
    }
    let (count, first, found, one) = try await peer.store.write { tx in
      let found = tx["cars"].find("color == $args.color", args: Wanted(color: .red))
      return (
        try found.count(), try found.sort("mileage", direction: .descending).first(as: Car.self),
        try found.sort("_id").exec(as: Car.self), try tx["cars"].findByID("d").exec(as: Car.self)
      )
    }
    #expect(count == 3 && first == new && found == reds + [new] && one == new)
  }

  @Test func `found documents are read as a type, the first of them, or counted`() throws {
    let found = peer.store["cars"].find("color == $args.color", args: Wanted(color: .red)).sort("_id")
    #expect(try found.exec(as: Car.self) == reds)
    #expect(try found.first()?.id == "a")
    #expect(try found.first(as: Car.self) == cars[0])
    #expect(try found.count() == 2)
    let all = peer.store["cars"].findAll().sort("_id")
    #expect(try all.offset(1).first(as: Car.self) == cars[1])
    #expect(try all.limit(0).first() == nil && all.offset(3).first() == nil)
    #expect(try peer.store["cars"].findByID("b").exec(as: Car.self) == cars[1])
    #expect(try peer.store["cars"].findByID("z").exec(as: Car.self) == nil)
    #expect(try peer.store["none"].findAll().first() == nil)
  }

  @Test(arguments: [(nil, 0), (2, 0), (2, 2), (0, 0), (nil, 4), (5, 1)] as [(Int?, Int)])
  func `a count is that of the documents read`(limit: Int?, offset: Int) throws {
    var found = peer.store["cars"].findAll().sort("mileage").offset(offset)
    if let limit { found = found.limit(limit) }
    #expect(try found.count() == found.exec().count)
    let (counted, read) = try peer.store.write { tx in
      var found = tx["cars"].findAll().offset(offset)
      if let limit { found = found.limit(limit) }
      return (try found.count(), try found.exec().count)
    }
    #expect(counted == read)
  }

  @Test func `a count of no collection is none, and a wrong bound or query is told`() throws {
    #expect(try peer.store["none"].findAll().count() == 0)
    for wrong in [peer.store["cars"].find("color =="), peer.store["cars"].findAll().limit(-1)] {
      #expect(throws: DunlinError.self) { try wrong.count() }
      #expect(throws: DunlinError.self) { try wrong.exec() }
    }
  }

  @Test func `a row that does not fit is named by its place`() async throws {
    try await peer.store["cars"].upsert(["_id": "b", "mileage": "much"])
    let error = try await #require(throws: DunlinError.self) {
      try await peer.store.execute(query: "SELECT * FROM cars ORDER BY _id", as: Car.self)
    }
    #expect(error.code == .decoding)
    #expect(error.context["row"] == "1" && error.context["path"] == "mileage")
  }

  @Test func `an error names the collection, the document and the type of each read`() async throws {
    try await peer.store["cars"].upsert(["_id": "b", "mileage": "much"])
    let (store, all) = (peer.store, "SELECT * FROM cars ORDER BY _id")
    let found = store["cars"].findAll().sort("_id")
    let reads: [() async throws -> Void] = [
      { _ = try await store.execute(query: all, as: Car.self) },
      { _ = try await store.execute(query: all).decoded(as: Car.self) },
      { _ = try await store.execute(query: all).items[1].decoded(as: Car.self) },
      { _ = try await store.prepare(query: all).execute(as: Car.self) },
      { _ = try found.exec(as: Car.self) },
      { _ = try found.exec().decoded(as: Car.self) },
      { _ = try store["cars"].findByID("b").exec(as: Car.self) },
      { _ = try await store.read { try $0["cars"].findByID("b").exec(as: Car.self) } },
      { _ = try await store.write { try $0["cars"].findAll().exec(as: Car.self) } },
      { _ = try await store.write { try $0.execute(query: all, as: Car.self) } },
      { _ = try await store.transaction { try await $0["cars"].findByID("b").exec(as: Car.self) } },
      { _ = try await store.transaction { try await $0.execute(query: all, as: Car.self) } },
      { for try await _ in try store.rows(of: all, as: Car.self) {} },
      { for try await row in try store.rows(of: all) { _ = try row.decoded(as: Car.self) } },
      { for try await _ in try store.changes(of: all, as: Car.self) { break } },
      { for await diff in try store.changes(of: all) { _ = try diff.items[1].decoded(as: Car.self) } },
    ]
    for read in reads {
      let error = await #expect(throws: DunlinError.self) { try await read() }
      expectEqual(error?.code, .decoding)
      expectEqual(error?.context["collection"], "cars")
      expectEqual(error?.context["document"], "\"b\"")
      expectEqual(error?.context["type"], "Car")
      expectEqual(error?.context["path"], "mileage")
    }
    let joined = await #expect(throws: DunlinError.self) {
      try await store.execute(
        query: "SELECT a._id, a.color, b.mileage FROM cars a JOIN cars b ON b._id = a._id", as: Car.self)
    }
    #expect(joined?.context["collection"] == nil && joined?.context["type"] == "Car")
    let place = #expect(throws: DunlinError.self) {
      try store["cars"].findByID("b").exec()?["mileage"].decoded(as: Int.self)
    }
    #expect(place?.context == ["collection": "cars", "document": "\"b\"", "type": "Int"])
  }

  @Test func `rows that do not fit are handed over by id, or end the read`() async throws {
    try await peer.store["cars"].upsert(["_id": "b", "color": "green"])
    let (store, all) = (peer.store, "SELECT * FROM cars WHERE color != :color ORDER BY _id")
    let (one, wanted) = (["color": Color.blue], Wanted(color: .blue))
    let statement = try store.prepare(query: all)
    var results: [DunlinTypedResult<Car>] = []
    results.append(try await store.execute(query: all, arguments: one, as: Car.self, unfit: .leaveOut))
    results.append(try await store.execute(query: all, arguments: wanted, as: Car.self, unfit: .leaveOut))
    results.append(try await statement.execute(arguments: one, as: Car.self, unfit: .leaveOut))
    results.append(try await statement.execute(arguments: wanted, as: Car.self, unfit: .leaveOut))
    results.append(try store["cars"].findAll().sort("_id").exec(as: Car.self, unfit: .leaveOut))
    try await results += store.read { tx in
      [
        try tx["cars"].findAll().sort("_id").exec(as: Car.self, unfit: .leaveOut),
        try tx.execute(query: all, arguments: one, as: Car.self, unfit: .leaveOut),
        try tx.execute(query: all, arguments: wanted, as: Car.self, unfit: .leaveOut),
        try tx.execute(statement, arguments: one, as: Car.self, unfit: .leaveOut),
        try tx.execute(statement, arguments: wanted, as: Car.self, unfit: .leaveOut),
      ]
    }
    try await results += store.write { tx in
      [try tx["cars"].findAll().sort("_id").exec(as: Car.self, unfit: .leaveOut)]
    }
    try await results += store.transaction { tx in
      [
        try await tx["cars"].findAll().sort("_id").exec(as: Car.self, unfit: .leaveOut),
        try await tx.execute(query: all, arguments: one, as: Car.self, unfit: .leaveOut),
        try await tx.execute(query: all, arguments: wanted, as: Car.self, unfit: .leaveOut),
        try await tx.execute(statement, arguments: one, as: Car.self, unfit: .leaveOut),
        try await tx.execute(statement, arguments: wanted, as: Car.self, unfit: .leaveOut),
      ]
    }
    #expect(results.count == 16)
    for result in results {
      expectEqual(result.items, reds)
      expectEqual(result.unfit.map(\.documentID), ["b"])
      expectEqual(result.unfit.first?.error.context["path"], "color")
      expectEqual(result.unfit.first?.error.context["collection"], "cars")
    }
    var ids: [String] = []
    for try await car in try store.rows(of: all, arguments: one, as: Car.self, unfit: .leaveOut) {
      ids.append(car._id)
    }
    #expect(ids == ["a", "c"])
    let error = await #expect(throws: DunlinError.self) {
      try await store.execute(query: all, arguments: one, as: Car.self, unfit: .fail)
    }
    #expect(error?.code == .decoding && error?.context["document"] == "\"b\"")
  }

  @Test func `the rows of a type come with the commit and the hints of their statement`() async throws {
    let update = "UPDATE cars SET mileage = 9 WHERE _id = 'a' RETURNING *"
    let result: DunlinTypedResult<Car> = try await peer.store.execute(query: update, as: Car.self)
    #expect(result.commitID == 4 && result.mutatedDocumentIDs == ["a"])
    #expect(result.items.map(\.mileage) == [9] && result.hints.isEmpty && result.oversizeDocumentIDs.isEmpty)
    let misspelled = "SELECT * FROM cars WHERE colour = 'red'"
    #expect(try await peer.store.execute(query: misspelled, as: Car.self).hints.count == 1)
    let again = update.replacing("9", with: "10")
    let inside = try await peer.store.write { try $0.execute(query: again, as: Car.self, unfit: .leaveOut) }
    #expect(inside.commitID == nil && inside.mutatedDocumentIDs == ["a"])
  }

  @Test func `arguments are a map of names`() async throws {
    let error = try await #require(throws: DunlinError.self) {
      try await peer.store.execute(query: red, arguments: 7)
    }
    #expect(error.code == .unsupportedValue)
  }

  @Test func `changes come as a type, with what changed`() async throws {
    var changes = try peer.store.changes(of: red, arguments: Wanted(color: .red), as: Car.self)
      .makeAsyncIterator()
    let first = try await changes.next()
    #expect(first?.isInitial == true && first?.items == reds && first?.insertions == [0, 1])
    try await peer.store["cars"].upsert(["_id": "c", "mileage": 30])
    let second = try await changes.next()
    #expect(second?.oldItems == reds && second?.items.map(\.mileage) == [1, 30] && second?.updates == [1])
    try await peer.store["cars"].findByID("a").remove()
    let third = try await changes.next()
    #expect(third?.items.map(\._id) == ["c"] && third?.deletions == [0])
    try await peer.store["cars"].upsert(["_id": "b", "color": Color.red])
    #expect(try await changes.next()?.items.map(\._id) == ["b", "c"])
  }

  @Test func `what a predicate finds is followed by a loop, as documents and as a type`() async throws {
    let found = peer.store["cars"].find("color == $args.color", args: Wanted(color: .red)).sort("_id")
    var changes = try found.changes().makeAsyncIterator()
    var typed = try found.changes(as: Car.self, unfit: .leaveOut).makeAsyncIterator()
    var single = try peer.store["cars"].findByID("a").changes().makeAsyncIterator()
    let (first, firstTyped) = (await changes.next(), try await typed.next())
    #expect(first?.isInitial == true && first?.items.map(\.id) == ["a", "c"] && firstTyped?.items == reds)
    #expect(await single.next()?.items.map(\.id) == ["a"])
    try await peer.store["cars"].upsert(["_id": "c", "mileage": "much"])
    let (second, secondTyped) = (await changes.next(), try await typed.next())
    #expect(second?.updates == [1] && secondTyped?.unfit.map(\.documentID) == ["c"])
    try await peer.store["cars"].findByID("a").remove()
    let gone = await single.next()
    #expect(gone?.items.isEmpty == true && gone?.deletions == [0])
    var one = try peer.store["cars"].findByID("b").changes(as: Car.self).makeAsyncIterator()
    #expect(try await one.next()?.items == [cars[1]])
    let syntax = #expect(throws: DunlinError.self) { try peer.store["cars"].find("color ==").changes() }
    let unsupported = #expect(throws: DunlinError.self) {
      try peer.store["system:collections"].findAll().changes()
    }
    let id = #expect(throws: DunlinError.self) {
      try peer.store["cars"].findByID(String(repeating: "x", count: 300)).changes()
    }
    #expect([syntax, unsupported, id].map { $0?.code } == [.syntax, .unsupported, .invalidDocumentID])
  }

  @Test func `a change that does not fit ends the loop with its reason`() async throws {
    var changes = try peer.store.changes(of: red, arguments: ["color": Color.red], as: Car.self)
      .makeAsyncIterator()
    _ = try await changes.next()
    try await peer.store["cars"].upsert(["_id": "c", "mileage": "much"])
    let error = await #expect(throws: DunlinError.self) { try await changes.next() }
    #expect(error?.code == .decoding && error?.context["path"] == "mileage")
    #expect(try await changes.next() == nil)
  }

  @Test func `what stands at a path, and the documents of a live query, are decoded too`() async throws {
    let document = try #require(try peer.store["cars"].findByID("b").exec())
    #expect(try document["color"].decoded(as: Color.self) == .blue)
    #expect(try document["owner"].decoded(as: Color.self) == nil)
    let error = #expect(throws: DunlinError.self) { try document["mileage"].decoded(as: Color.self) }
    #expect(error?.code == .decoding)
    let events = Events<[Car]?>()
    let live = peer.store["cars"].findAll().sort("_id").observeLocal { docs, _ in
      events.send(try? docs.decoded(as: Car.self))
    }
    #expect(await events.next(1) == [cars])
    try await peer.store["cars"].upsert(["_id": "a", "color": "green"])
    #expect(await events.next(1) == [nil])
    live.stop()
  }

  @Test func `observers and subscriptions take a value's fields as arguments`() async throws {
    let events = Events<Int>()
    let observer = try peer.store.registerObserver(query: red, arguments: Wanted(color: .red)) {
      events.send($0.items.count)
    }
    #expect(await events.next(1) == [2])
    observer.cancel()
    let subscription = try peer.dunlin.sync.registerSubscription(
      query: "SELECT * FROM cars WHERE color = :color", arguments: Wanted(color: .red))
    #expect(peer.dunlin.sync.subscriptions.count == 1)
    subscription.cancel()
  }
}
