import DunlinKit

// A program whose top level awaits nothing: it gets the forms that wait. Tests/ToolTests runs it.

struct Bike: Codable, Sendable {
  var _id: String
  var km: Int
  var trips = DunlinCounter()
}

let dunlin = try Dunlin(path: CommandLine.arguments[1], identity: .unsafeDevelopment(appID: "top"))
let store = dunlin.store
let bikes = store["bikes"]

try bikes.upsert(["_id": "b1", "km": 1])
try bikes.upsert(Bike(_id: "b2", km: 2))
try bikes.save(["_id": "b1", "km": 3])
var bike = Bike(_id: "b3", km: 4)
try bikes.save(&bike)
bike.km = 5
try bikes.save(bike, from: Bike(_id: "b3", km: 4))
bikes.findByID("b1").update { bike in bike?["km"].set(6) }
bikes.find("km > 100").update { bikes in for bike in bikes { bike["km"].set(0) } }
try store.execute(query: "UPDATE bikes SET km = 7 WHERE _id = 'b2'")
let found = try bikes.find("km > $args.km", args: ["km": 0]).sort("_id").exec()
let typed = try store.execute(query: "SELECT * FROM bikes WHERE km = 7", as: Bike.self)
let count = try bikes.findAll().count()

store.write { tx in tx["bikes"].findByID("b9").evict() }
try store.write { tx in
  try tx["bikes"].upsert(["_id": "b4"])
  try tx.execute(query: "UPDATE bikes SET km = 1 WHERE _id = 'b4'")
}
try store.write { tx in
  try tx["bikes"].upsert(["_id": "b5"])
  return .rollback
}
let commit = try store.commit(hint: "top") { tx in try tx["bikes"].findByID("b2").remove() }
let read = try store.read { tx in try tx["bikes"].findAll().count() }
try bikes.findByID("b9").remove()
bikes.find("km > 100").evict()
try dunlin.close()

print(found.map { $0["km"].intValue }, typed.count, count, commit.value, read)
