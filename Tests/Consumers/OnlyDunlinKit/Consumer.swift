import DunlinKit
import Foundation

/// Two peers on loopback: what one writes, the other pulls by query.
@main
struct Consumer {
  static func main() async throws {
    let directory = NSTemporaryDirectory() + "/dunlin-consumer-\(UUID())"
    defer { try? FileManager.default.removeItem(atPath: directory) }

    let tablet = try Dunlin(path: directory + "/tablet", identity: .unsafeDevelopment(appID: "consumer"))
    let phone = try Dunlin(path: directory + "/phone", identity: .unsafeDevelopment(appID: "consumer"))
    try tablet.listen(port: 0)
    try tablet.startSync()
    phone.connect(host: "127.0.0.1", port: tablet.listeningPorts[0])
    try phone.startSync()

    let subscription = phone.store["cars"].find("color == 'red'").subscribe()
    let (results, continuation) = AsyncStream.makeStream(of: [DunlinDocument].self)
    let live = phone.store["cars"].findAll().observeLocal { cars, _ in continuation.yield(cars) }

    try await tablet.store["cars"].upsert(
      ["_id": "a", "color": "red", "owned": DunlinCounter()] as [String: Any?])
    try await tablet.store["cars"].upsert(["_id": "b", "color": "black"])
    await tablet.store["cars"].findByID("a").update { car in car?["owned"].counter?.increment(by: 2) }

    let deadline = Task {
      try await Task.sleep(for: .seconds(60))
      continuation.finish()
    }
    var arrived = false
    for await cars in results where cars.first?["owned"].counter?.value == 2 {
      precondition(cars.map(\.id) == ["a"], "only what was asked for")
      arrived = true
      break
    }
    precondition(arrived, "nothing came within a minute")
    deadline.cancel()
    live.cancel()
    subscription.cancel()

    let result = try await phone.store.execute(
      query: "SELECT * FROM cars WHERE color = :c", arguments: ["c": "red"])
    precondition(result.items.count == 1)
    try phone.close()
    try tablet.close()

    print("DunlinKit alone: ok")
  }
}
