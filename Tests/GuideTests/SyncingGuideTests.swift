import Dispatch
import DunlinKit
import Foundation
import TestKit
import Testing

/// What the guides to syncing say, on our own data: a shop's parcels and the couriers who carry them.
@Suite(.timeLimit(.minutes(15))) struct SyncingGuideTests {
  let peer: Peer
  var dunlin: Dunlin { peer.dunlin }

  init() throws { peer = try Peer() }

  @Test func `nothing is pulled without a subscription, and what matches with one`() async throws {
    let shop = try Peer("shop")
    try await shop.dunlin.store["parcels"].upsert(["_id": "p1", "zone": "north"])
    try await shop.dunlin.store["parcels"].upsert(["_id": "p2", "zone": "south"])
    try peer.connect(to: shop)
    #expect(dunlin.isSyncActive)

    let subscription = dunlin.store.collection("parcels").find("zone == 'north'").subscribe()
    try await peer.wait(for: "parcels") { !$0.isEmpty }
    #expect(try dunlin.store["parcels"].findAll().exec().map(\.id) == ["p1"])

    // Live: what is written later comes as well, and what does not match does not.
    try await shop.dunlin.store["parcels"].upsert(["_id": "p3", "zone": "south"])
    try await shop.dunlin.store["parcels"].upsert(["_id": "p4", "zone": "north"])
    try await peer.wait(for: "parcels") { $0.count > 1 }
    #expect(try dunlin.store["parcels"].findAll().exec().map(\.id) == ["p1", "p4"])
    subscription.cancel()
    #expect(subscription.isCancelled)
  }

  @Test func `data crosses a peer that subscribes to it as well`() async throws {
    let shop = try Peer("shop")
    let depot = try Peer("depot")
    let subscriptions = [peer, depot].map { $0.dunlin.store["parcels"].find("zone == 'north'").subscribe() }
    try depot.connect(to: shop)
    try peer.connect(to: depot)
    try await shop.dunlin.store["parcels"].upsert(["_id": "p1", "zone": "north"])
    try await peer.wait(for: "parcels") { !$0.isEmpty }
    for subscription in subscriptions { subscription.cancel() }
  }

  @Test func `a live query is called at once and then for each change of its result`() async throws {
    let seen = Events<Seen>()
    let liveQuery = dunlin.store.collection("parcels").find("zone == 'north'")
      .observeLocal { parcels, event in
        seen.send(Seen(parcels, event))
      }

    func shopDidSend() {
      _ = try? dunlin.store.collection("parcels").upsert(
        [
          "_id": "p1",
          "zone": "north",
          "weight": 3,
        ] as [String: Any?])
    }

    #expect(await seen.next(1) == [Seen([], initial: true)])
    shopDidSend()
    try await dunlin.store["parcels"].upsert(["_id": "p2", "zone": "south"])
    await dunlin.store["parcels"].findByID("p1").update { parcel in parcel?["weight"] = 4 }
    try await dunlin.store["parcels"].findByID("p1").remove()

    var (inserted, updated, deleted) = (Seen(["p1"]), Seen(["p1"]), Seen([]))
    inserted.insertions = [0]
    updated.updates = [0]
    deleted.deletions = [0]
    #expect(await seen.next(3) == [inserted, updated, deleted])
    liveQuery.stop()
  }

  @Test func `the event of an update has the documents from before`() async throws {
    try await dunlin.store["parcels"].upsert(["_id": "p1", "zone": "north", "weight": 3])
    let weights = Events<[Int]>()
    let liveQuery = dunlin.store["parcels"].findAll().observeLocal { docs, event in
      switch event {
      case .initial:
        weights.send(docs.map { $0["weight"].intValue })
      case .update(let update):
        weights.send(
          update.oldDocuments.map { $0["weight"].intValue } + docs.map { $0["weight"].intValue }
            + update.updates)
      }
    }
    #expect(await weights.next(1) == [[3]])
    await dunlin.store["parcels"].findByID("p1").update { $0?["weight"].set(5) }
    #expect(await weights.next(1) == [[3, 5, 0]])
    liveQuery.cancel()
  }

  @Test func `subscriptions and live queries live in optional properties`() throws {
    final class Controller {
      var subscribeA: DunlinSubscription? = nil
      var subscribeB: DunlinSubscription? = nil

      var liveQueryA: DunlinLiveQuery? = nil
      var liveQueryB: DunlinLiveQuery? = nil
    }
    let controller = Controller()
    controller.subscribeA = dunlin.store["parcels"].find("zone == 'north'").subscribe()
    controller.subscribeB = dunlin.store["couriers"].findByID("c1").subscribe()
    controller.liveQueryA = dunlin.store["parcels"].findAll().observeLocal { _, _ in }
    controller.liveQueryB = dunlin.store["couriers"].findByID("c1").observeLocal({ doc, event in
      _ = (doc, event.isInitial)
    })
    #expect(dunlin.sync.subscriptions.map(\.collectionName) == ["parcels", "couriers"])
    controller.subscribeA?.cancel()
    controller.subscribeB?.cancel()
    controller.liveQueryA?.stop()
    controller.liveQueryB?.stop()
    #expect(dunlin.sync.subscriptions.isEmpty)
  }

  @Test func `subscriptions live in arrays and are cancelled before they are removed`() {
    var subscriptions = [DunlinSubscription]()
    let liveQueries = [DunlinLiveQuery]()
    for zone in ["north", "south"] {
      subscriptions.append(
        dunlin.store["parcels"].find("zone == $args.zone", args: ["zone": zone]).subscribe())
    }
    #expect(dunlin.sync.subscriptions.count == 2)
    for sub in subscriptions {
      sub.cancel()
    }
    #expect(dunlin.sync.subscriptions.isEmpty)
    subscriptions.removeAll()
    #expect(liveQueries.isEmpty)
  }

  @Test func `evicted documents are gone here and stay elsewhere`() async throws {
    let shop = try Peer("shop")
    try await shop.dunlin.store["parcels"].upsert(["_id": "p1", "owner": "Bob"])
    let subscription = dunlin.store["parcels"].findAll().subscribe()
    try peer.connect(to: shop)
    try await peer.wait(for: "parcels") { !$0.isEmpty }
    subscription.cancel()

    let collection = dunlin.store["parcels"]
    await collection.find("owner == 'Bob'").evict()
    #expect(try collection.findAll().exec().isEmpty)
    #expect(try shop.dunlin.store["parcels"].findAll().exec().count == 1)
    #expect(!collection.findByID("p1").evict())
  }

  @Test func `flagged documents are left out of a subscription and evicted`() async throws {
    let shop = try Peer("shop")
    for (id, isSafeToEvict) in [("p1", true), ("p2", false)] {
      try await shop.dunlin.store["parcels"].upsert([
        "_id": id,
        "color": "red",
        "mileage": 40_000,
        "isSafeToEvict": isSafeToEvict,
        "createdAt": "2023-05-22T22:24:24.217Z",
      ])
    }
    let collection = dunlin.store["parcels"]
    try await collection.upsert(["_id": "p0", "isSafeToEvict": true])
    let subscription = collection.find("createdAt >= '2023-05-22T22:24:24.217Z' && isSafeToEvict == false")
      .subscribe()
    try peer.connect(to: shop)
    try await peer.wait(for: "parcels") { $0.contains { $0.id == "p2" } }
    await #expect(collection.find("isSafeToEvict == true").evict() == ["p0"])
    #expect(try collection.findAll().exec().map(\.id) == ["p2"])
    subscription.cancel()
  }

  @Test func `a subscription evicts by itself what leaves it`() async throws {
    let shop = try Peer("shop")
    let tasks = dunlin.store["tasks"]
    let all = shop.dunlin.store["tasks"].findAll().subscribe()
    for id in ["t1", "t2"] { try await shop.dunlin.store["tasks"].upsert(["_id": id, "status": "new"]) }
    let todo = tasks.find("status != 'done'").subscribe(onLeave: .evict)
    let same = try dunlin.sync.registerSubscription(
      query: "SELECT * FROM tasks WHERE status != 'done'", onLeave: .evict)
    #expect([todo, same].allSatisfy { $0.onLeave == .evict })
    #expect(all.onLeave == .keep)
    try peer.connect(to: shop)
    try await peer.wait(for: "tasks") { $0.count == 2 }

    // Done here: the shop has it before it goes.
    try await tasks.upsert(["_id": "t1", "status": "done"])
    try await peer.wait(for: "tasks") { $0.count == 1 }
    #expect(try shop.dunlin.store["tasks"].find("status == 'done'").exec().map(\.id) == ["t1"])
    // Done there.
    try await shop.dunlin.store["tasks"].upsert(["_id": "t2", "status": "done"])
    try await peer.wait(for: "tasks") { $0.isEmpty }
    #expect(try shop.dunlin.store["tasks"].findAll().exec().count == 2)
    // And back again.
    try await shop.dunlin.store["tasks"].upsert(["_id": "t2", "status": "new"])
    try await peer.wait(for: "tasks") { $0.count == 1 }
    for subscription in [all, todo, same] { subscription.cancel() }
  }

  @Test func `a soft delete syncs as a change and is evicted later`() throws {
    struct Note: Codable {
      let _id: String
      var text: String
      var isDeleted: Bool
    }
    let collection = dunlin.store["notes"]
    var note = Note(_id: "n1", text: "ring twice", isDeleted: false)
    try collection.upsert(note)
    try collection.upsert(Note(_id: "n2", text: "beware", isDeleted: false))
    note.isDeleted = true
    try collection.upsert(note)
    #expect(try collection.find("isDeleted == false").exec().map(\.id) == ["n2"])
    collection.find("isDeleted == true").evict()
    #expect(try collection.findAll().exec().map(\.id) == ["n2"])
  }

  @Test func `old documents are evicted while the new ones go on to sync`() async throws {
    let shop = try Peer("shop")
    func yesterday() -> String { "2024-03-01T12:00:00.000Z" }
    try await shop.dunlin.store["parcels"].upsert(["_id": "old", "createdAt": "2024-02-28T09:30:00.000Z"])
    try await shop.dunlin.store["parcels"].upsert(["_id": "new", "createdAt": "2024-03-02T09:30:00.000Z"])
    var subscription = dunlin.store.collection("parcels").findAll().subscribe()
    try peer.connect(to: shop)
    try await peer.wait(for: "parcels") { $0.count == 2 }

    // 1. Stop subscription
    subscription.cancel()
    // 2. Evict irrelevant data
    await dunlin.store.collection("parcels").find(
      "createdAt <= $args.yesterday",
      args: [
        "yesterday": yesterday()
      ]
    ).evict()
    // 3. Start new subscription
    subscription = dunlin.store.collection("parcels").find(
      "createdAt > $args.yesterday",
      args: [
        "yesterday": yesterday()
      ]
    ).subscribe()

    #expect(try dunlin.store["parcels"].findAll().exec().map(\.id) == ["new"])
    try await shop.dunlin.store["parcels"].upsert(["_id": "newer", "createdAt": "2024-03-03T09:30:00.000Z"])
    try await peer.wait(for: "parcels") { $0.contains { $0.id == "newer" } }
    #expect(try dunlin.store["parcels"].findAll().exec().map(\.id) == ["new", "newer"])
    subscription.cancel()
  }

  @Test func `a date as an argument compares with the dates of documents`() async throws {
    try await dunlin.store["parcels"].upsert([
      "_id": "p1", "createdAt": Date(timeIntervalSince1970: 1_700_000_000),
    ])
    let count = Events<Int>()
    let liveQuery = dunlin.store.collection("parcels").find(
      "createdAt > $args.yesterday",
      args: [
        "yesterday": Date(timeIntervalSince1970: 1_699_999_999.5)
      ]
    ).observeLocal({ parcels, event in
      count.send(event.isInitial ? parcels.count : -1)
    })
    #expect(await count.next(1) == [1])
    liveQuery.stop()
    #expect(
      try dunlin.store["parcels"].findByID("p1").exec()?["createdAt"].stringValue
        == "2023-11-14T22:13:20.000Z")
  }

  @Test func `orders go through their states and leave the device at the end`() async throws {
    final class Shop {
      let dunlin: Dunlin
      var query: DunlinSubscription?

      init(_ dunlin: Dunlin) { self.dunlin = dunlin }

      func start() {
        self.query = self.dunlin.collection("orders")
          .find("status != 'FILLED' && status != 'CANCELLED'")
          .subscribe()
        self.dunlin.collection("orders").find("status == 'FILLED' || status == 'CANCELLED'").evict()
      }

      func fill(_ id: String) throws {
        try self.dunlin.collection("orders").upsert([
          "_id": id,
          "status": "FILLED",
        ])
      }

      func cancel(_ id: String) throws {
        try self.dunlin.collection("orders").upsert([
          "_id": id,
          "status": "CANCELLED",
        ])
        self.dunlin.collection("orders").findByID(id).evict()
      }
    }
    for (id, status) in [("o1", "OPEN"), ("o2", "FILLED"), ("o3", "IN PROGRESS")] {
      try await dunlin["orders"].upsert(["_id": id, "status": status])
    }
    let open = Events<[DunlinDocumentID]>()
    let frontPage = dunlin["orders"].find("status != 'FILLED'").observeLocal { orders, _ in
      open.send(orders.map(\.id))
    }
    let shop = Shop(dunlin)
    shop.start()
    try shop.fill("o1")
    try shop.cancel("o3")
    #expect(await open.next(4) == [["o1", "o3"], ["o3"], ["o3"], []])
    #expect(try dunlin["orders"].findAll().exec().map(\.id) == ["o1"])
    frontPage.stop()
    shop.query?.cancel()
  }
}
