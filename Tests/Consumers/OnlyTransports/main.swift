import DocStore
import Foundation
import QueryEngine
import SyncProtocol
import Transports

// Two stores that sync: over TCP, and over a link that the program brings itself.

/// Lets everything out and in.
struct OpenGate: SyncGate {
  let epoch: UInt64 = 0
  func maySend(collection: String, to peer: PeerKind) -> Bool { true }
  func mayAccept(collection: String, from peer: PeerKind) -> Bool { true }
  func fingerprint(toward peer: PeerKind) -> UInt64 { 0 }
}

/// A store with its network.
struct Device {
  let store: Store
  let network: PeerNetwork

  init(_ name: String, in directory: String) throws {
    store = try Store.open(at: "\(directory)/\(name)")
    network = PeerNetwork(
      setup: SessionDriver.Setup(
        store: store, gate: OpenGate(),
        configuration: SessionConfiguration(kind: .small, peerName: name, appID: "consumer")))
    try network.start()
  }

  func put(_ id: String) throws {
    _ = try store.write { try $0.upsert(["_id": .string(id), "seats": .int(180)], into: "flights") }
  }

  /// Waits until a document is here.
  func wait(for id: String) async throws {
    let id = try DocumentID(id)
    for _ in 0..<1_000 {
      let isHere = try store.read { transaction in
        guard let flights = try transaction.collection("flights") else { return false }
        return try transaction.record(flights, id) != nil
      }
      if isHere { return }
      try await Task.sleep(for: .milliseconds(10))
    }
    fatalError("\(id) has not come within ten seconds")
  }

  func close() async {
    await network.stop()
    store.close()
  }
}

let directory = NSTemporaryDirectory() + "/dunlin-consumer-\(UUID())"
defer { try? FileManager.default.removeItem(atPath: directory) }
let gate = try Device("gate", in: directory)
let crew = try Device("crew", in: directory)
crew.network.subscribe(to: [try SubscriptionQuery(dql: "SELECT * FROM flights")])

guard let port = try gate.network.listen() else { fatalError("a network that runs has a port") }
crew.network.connect(host: "127.0.0.1", port: port)
try gate.put("UA1545")
try await crew.wait(for: "UA1545")

crew.network.disconnect(host: "127.0.0.1", port: port)
let (there, here) = MemoryLink.pair()
_ = gate.network.adopt(there, direction: .incoming)
_ = crew.network.adopt(here, direction: .outgoing)
try gate.put("B6725")
try await crew.wait(for: "B6725")

await crew.close()
await gate.close()

print("Transports alone: ok")
