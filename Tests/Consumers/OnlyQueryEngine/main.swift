import DocStore
import Foundation
import QueryEngine

// Statements over a store of one process: written, indexed, asked, and asked again from a prepared statement.

let directory = NSTemporaryDirectory() + "/dunlin-consumer-\(UUID())"
defer { try? FileManager.default.removeItem(atPath: directory) }

let store = try Store.open(at: directory)
let engine = Engine(
  store: store, parameters: SystemParameters(),
  environment: EngineEnvironment(now: { DispatchTime.now().uptimeNanoseconds }))

_ = try engine.execute(
  "INSERT INTO flights DOCUMENTS (:a), (:b), (:c)",
  arguments: [
    "a": .map(["_id": .string("UA1545"), "origin": .string("EWR"), "delay": .int(2)]),
    "b": .map(["_id": .string("B6725"), "origin": .string("JFK"), "delay": .int(-1)]),
    "c": .map(["_id": .string("AA1141"), "origin": .string("JFK"), "delay": .int(33)]),
  ])
_ = try engine.execute("CREATE INDEX byOrigin ON flights (origin)")

let late = try engine.prepare(
  "SELECT _id, delay FROM flights WHERE origin = :origin AND delay > 0 ORDER BY delay")
let rows = try engine.execute(late, arguments: ["origin": .string("JFK")]).rows.map { try $0.values() }
precondition(rows == [["_id": .string("AA1141"), "delay": .int(33)]])

let counts = try engine.execute("SELECT origin, COUNT(*) AS n FROM flights GROUP BY origin ORDER BY origin")
  .rows
let numbers = try counts.map { try $0.values()["n"] }
precondition(numbers == [.int(1), .int(2)])

do {
  _ = try engine.execute("SELECT * FORM flights")
  fatalError("a mistake must be told")
} catch let error as QueryError {
  precondition(error.code == .syntax)
}
store.close()

print("QueryEngine alone: ok")
