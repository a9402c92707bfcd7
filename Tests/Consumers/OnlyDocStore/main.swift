import DocStore
import Foundation

// A store on disk: written, closed, opened again, read.

let directory = NSTemporaryDirectory() + "/dunlin-consumer-\(UUID())"
defer { try? FileManager.default.removeItem(atPath: directory) }

func open() throws -> Store { try Store.open(at: directory + "/store") }

var store = try open()
do {
  _ = try open()
  fatalError("a second open must be refused")
} catch let error as StoreError {
  precondition(error.code == .alreadyOpen)
}

let (id, receipt) = try store.write { transaction in
  let id = try transaction.upsert(["_id": .string("UA1545"), "origin": .string("EWR")], into: "flights")
  _ = try transaction.update(id, in: "flights", [.set(["delay"], .int(2)), .increment(["seen"], 1)])
  return id
}
precondition(receipt.sequence > 0)
store.close()

store = try open()
let fields = try store.read { transaction in
  guard let flights = try transaction.collection("flights"), let record = try transaction.record(flights, id)
  else { fatalError("the document is gone") }
  return try record.withView { try $0.fields(flights.keys) }
}
precondition(fields == ["origin": .string("EWR"), "delay": .int(2), "seen": .counter(1)])
store.close()

print("DocStore alone: ok")
