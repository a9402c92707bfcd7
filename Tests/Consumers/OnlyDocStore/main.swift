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

// A second store follows the first by means of the program's own.
let follower = try Store.open(at: directory + "/follower")
var followed: UInt64 = 0

/// Brings what was written at a store after a commit to one that follows it.
///
/// - Returns: Where to go on.
func bring(_ store: Store, to follower: Store, after followed: UInt64) throws -> UInt64 {
  let (written, end) = try store.read { transaction in
    var written: [(name: String, id: DocumentID)] = []
    let isWhole = try transaction.forEachWritten(after: followed) { _, document in
      if let collection = try transaction.collection(number: document.collection) {
        written.append((collection.name, document.id))
      }
      return true
    }
    precondition(isWhole, "the log goes back to the beginning")
    return (written, transaction.sequence)
  }
  for (name, id) in written {
    let vector = try follower.read { transaction in
      try transaction.collection(name).flatMap { try transaction.vector(of: id, in: $0) }
    }
    let delta = try store.read { transaction in
      try transaction.collection(name).flatMap {
        try transaction.delta(of: id, in: $0, since: vector ?? VersionVector())
      }
    }
    guard let delta else { continue }
    let result = try follower.write { try $0.merge(delta, id: id, into: name) }.0
    precondition(result == .changed)
  }
  return end
}

followed = try bring(store, to: follower, after: followed)
_ = try store.write { try $0.update(id, in: "flights", [.set(["delay"], .int(5))]) }
_ = try follower.write { try $0.update(id, in: "flights", [.increment(["seen"], 1)]) }
followed = try bring(store, to: follower, after: followed)
let merged = try follower.read { transaction in
  guard let flights = try transaction.collection("flights"), let record = try transaction.record(flights, id)
  else { fatalError("the document has not come") }
  return try record.withView { try $0.fields(flights.keys) }
}
precondition(merged == ["origin": .string("EWR"), "delay": .int(5), "seen": .counter(2)])
follower.close()
store.close()

print("DocStore alone: ok")
