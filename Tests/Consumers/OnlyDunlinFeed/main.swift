import DocStore
import DunlinFeed
import Foundation

// The changes of a store, from a position on, and the versions of a document.

let directory = NSTemporaryDirectory() + "/dunlin-consumer-\(UUID())"
defer { try? FileManager.default.removeItem(atPath: directory) }

let store = try Store.open(at: directory)
let hub = FeedHub(store: store)
let history = try HistoryKeeper(store: store)
try await history.keep(HistoryPolicy(), of: "flights")
let start = try FeedPosition.now(store)

for seats in [180, 186] {
  _ = try store.write {
    try $0.upsert(["_id": .string("UA1545"), "seats": .int(Int64(seats))], into: "flights")
  }
}

let filter = try FeedFilter(dql: ["SELECT * FROM flights WHERE seats > 100"])
let reader = try hub.read(filter, after: start)
guard let batch = try await reader.next(waiting: .seconds(10)), batch.items.count == 1,
  case .change(let change) = batch.items[0].event
else { fatalError("the change must be told once") }
precondition(
  change.newValue == .fields(["_id": .string("UA1545"), "seats": .int(186)]) && change.isResumed)
let position = try FeedPosition(token: batch.position.token)
precondition(position == batch.position)

let versions = try history.versions(of: change.id, in: "flights").versions
precondition(versions.map { $0.fields?["seats"] } == [.int(180), .int(186)])

do {
  _ = try FeedFilter(dql: [])
  fatalError("a mistake must be told")
} catch let error as FeedError {
  precondition(error.code == .argument)
}
hub.close()
store.close()

print("DunlinFeed alone: ok")
