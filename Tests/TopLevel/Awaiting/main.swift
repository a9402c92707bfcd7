import DunlinKit

// A program whose top level awaits something. A function that has two forms is spelled as in a program that
// awaits nothing, and the compiler takes the blocking form. Inside a function it takes the awaited form.
// Tests/ToolTests runs it.

struct Bike: Codable, Sendable {
  var _id: String
  var km: Int
  var trips = DunlinCounter()
}

let dunlin = try Dunlin(path: CommandLine.arguments[1], identity: .unsafeDevelopment(appID: "top"))

try dunlin.store["bikes"].upsert(["_id": "b1", "km": 1])
try dunlin.store.execute(query: "INSERT INTO bikes DOCUMENTS ({'_id': 'b9'})")
try dunlin.store.write { tx in try tx["bikes"].findByID("b9").remove() }
dunlin.store["bikes"].findByID("b1").update { bike in bike?["km"].set(2) }
try await dunlin.store.transaction { tx in
  try await tx["bikes"].upsert(["_id": "b5"])
  return .rollback
}

/// The same as the program that waits, with an `await` before each call that has such a form.
func program(_ store: DunlinStore) async throws -> String {
  let bikes = store["bikes"]
  try await bikes.upsert(Bike(_id: "b2", km: 2))
  try await bikes.save(["_id": "b1", "km": 3])
  var bike = Bike(_id: "b3", km: 4)
  try await bikes.save(&bike)
  bike.km = 5
  try await bikes.save(bike, from: Bike(_id: "b3", km: 4))
  await bikes.findByID("b1").update { bike in bike?["km"].set(6) }
  await bikes.find("km > 100").update { bikes in for bike in bikes { bike["km"].set(0) } }
  try await store.execute(query: "UPDATE bikes SET km = 7 WHERE _id = 'b2'")
  let found = try bikes.find("km > $args.km", args: ["km": 0]).sort("_id").exec()
  let typed = try await store.execute(query: "SELECT * FROM bikes WHERE km = 7", as: Bike.self)
  let count = try bikes.findAll().count()
  await store.write { tx in tx["bikes"].findByID("b9").evict() }
  try await store.write { tx in
    try tx["bikes"].upsert(["_id": "b4"])
    try tx.execute(query: "UPDATE bikes SET km = 1 WHERE _id = 'b4'")
  }
  let commit = try await store.commit(hint: "top") { tx in try tx["bikes"].findByID("b2").remove() }
  let read = try await store.read { tx in try tx["bikes"].findAll().count() }
  try await bikes.findByID("b9").remove()
  await bikes.find("km > 100").evict()
  return "\(found.map { $0["km"].intValue }) \(typed.count) \(count) \(commit.value) \(read)"
}

print(try await program(dunlin.store))
try dunlin.close()
